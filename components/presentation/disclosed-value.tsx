/** Words a value that a proof discloses: readers can't know what `null` stands for. */
import { AgentText } from "#components/agent-text";
import { canonicalJson, type JsonValue } from "#lib/protocol/encoding/canonical-json";

export function DisclosedValue({ value }: { readonly value: JsonValue }) {
  if (value === null) return <span className="text-muted">none</span>;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return <AgentText value={typeof value === "string" ? value : canonicalJson(value)} />;
}
