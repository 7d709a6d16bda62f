/** JSON in a detail, such as an invoice's lines, as lists of names and values. Its text is in what the approval covers. */
import { AgentText } from "#components/agent-text";
import { labelNames } from "#lib/protocol/approval/detail-names";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";

export type JsonLists = JsonValue[] | { [name: string]: JsonValue };

const isLists = (value: JsonValue): value is JsonLists =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** A detail has 1,024 characters; deeper lists have no room on a phone. */
const maxDepth = 3;
const measureDepth = (value: JsonValue): number =>
  isLists(value) ? 1 + Math.max(...Object.values(value).map(measureDepth)) : 0;

/** Null for any other text, and for JSON in which two readers could see two documents. */
export function readJsonLists(text: string): JsonLists | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const value = parseStrictJson(text);
    return isLists(value) && measureDepth(value) <= maxDepth ? value : null;
  } catch {
    return null;
  }
}

function Value({ value }: { readonly value: JsonValue }) {
  if (isLists(value)) return <JsonListsView value={value} />;
  return <AgentText value={typeof value === "string" ? value : JSON.stringify(value)} />;
}

/** Each value keeps to its own column: a line break in one can't look like the next name. */
export function JsonListsView({ value }: { readonly value: JsonLists }) {
  if (Array.isArray(value)) {
    return (
      <ol className="list-decimal pl-5 marker:text-muted marker:text-sm">
        {[...value.entries()].map(([at, item]) => (
          <li key={at} className="py-0.5 pl-1">
            <Value value={item} />
          </li>
        ))}
      </ol>
    );
  }
  const label = labelNames(Object.keys(value));
  return (
    <dl className="grid grid-cols-[fit-content(45%)_minmax(0,1fr)] gap-x-3">
      {Object.entries(value).map(([name, item]) => (
        <div key={name} className="contents">
          <dt className="text-muted text-sm leading-[1.6]">
            <AgentText value={label(name)} isName />
          </dt>
          <dd className="min-w-0">
            <Value value={item} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
