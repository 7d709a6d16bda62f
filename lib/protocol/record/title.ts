/**
 * A title that says what runs, where many requests have the same action ("Use the tool Bash"): derived for display from
 * details that only the organization and its approvers see. Signed, matched and approved is the action itself.
 */
import { canonicalJson, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { maskSecrets } from "#lib/protocol/text/mask-secrets";

const maxTitle = 80;

/** Arguments by which people tell calls apart, the most telling first; names as tools of coding agents have them. */
const telling = [
  "command",
  "cmd",
  "script",
  "file_path",
  "notebook_path",
  "path",
  "url",
  "query",
  "pattern",
  "subject",
  "title",
  "prompt",
  "description",
];

/** A hook's action, which names the tool and no more. */
const isGeneric = (action: string, tool: string) => action === `Use the tool ${tool}`;

/** Long values are split: "command (1 of 3)". */
const baseName = (name: string) => name.replace(/ \(.*\)$/, "").toLowerCase();

/** The first line that says something, cut at a word. */
function shorten(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  const masked = maskSecrets(line.trim());
  const isWhole = line.trim() === text.trim();
  if ([...masked].length <= maxTitle) return isWhole ? masked : `${masked} …`;
  const cut = [...masked].slice(0, maxTitle).join("");
  const end = cut.lastIndexOf(" ");
  return `${end > maxTitle / 2 ? cut.slice(0, end) : cut} …`;
}

interface Titled {
  readonly action: string;
  readonly tool: string | null;
  readonly context: Readonly<Record<string, string>> | null;
}

/** Names and titles as they are recorded: of at most 128 characters, each visible. */
export const toRecordedText = (text: string): string => [...toVisibleText(text)].slice(0, 128).join("");

/** A call that is recorded without its arguments: of them there is a title at most, cut and masked as an approver's. */
export function describeToolCall(
  name: string,
  input: unknown,
): { tool: string; action: string; title?: string } {
  const tool = toRecordedText(name);
  const action = `Use the tool ${tool}`;
  const fields = isJsonObject(input) ? Object.entries(input) : [];
  const context = Object.fromEntries(
    fields.map(([field, value]) => [field, typeof value === "string" ? value : canonicalJson(value)]),
  );
  const title = toRecordedText(deriveTitle({ action, tool, context }));
  return { tool, action, ...(title !== action && { title }) };
}

/** The action, if it says more than the tool or nothing else is known. */
export function deriveTitle({ action, tool, context }: Titled): string {
  if (tool === null || context === null || !isGeneric(action, tool)) return action;
  const details = Object.entries(context).filter(([, value]) => value.trim() !== "");
  const found = telling
    .map((name) => details.find(([given]) => baseName(given) === name))
    .find((detail) => detail !== undefined);
  const [, value = ""] = found ?? details[0] ?? [];
  return value === "" ? action : shorten(value);
}
