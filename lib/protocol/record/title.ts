/**
 * A title that says what runs, where many requests have the same action ("Use the tool Bash"): derived for display from
 * details that only the organization and its approvers see. Signed, matched and approved is the action itself.
 */
import { canonicalJson, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { maskSecrets } from "#lib/protocol/text/mask-secrets";

const maxTitle = 80;

const split = (names: string) => names.split(" ");

/*
 * Arguments by which people tell calls apart, the most telling first, as tools of coding agents name them
 * (lib/client/hook/agents.ts), without case and signs.
 */
const commands = split("command cmd commandline script argv chars input patch patchtext url");
const files = split("filepath notebookpath targetfile absolutepath path");
const others = split("query pattern subject title message prompt description dirpath directorypath");
/** Old and new text of a file, in this order, and what is searched in it. */
const changes = [
  ...split("oldstring oldstr oldtext targetcontent before newstring newstr newtext replacementcontent after"),
  ...split("newsource content contents filetext codecontent edits replacementchunks pattern query"),
];

/** A hook's action, which names the tool and no more. */
const isGeneric = (action: string, tool: string) => action === `Use the tool ${tool}`;

/** Long values are split: "command (1 of 3)". */
const readName = (name: string) =>
  name
    .replace(/ \(.*\)$/, "")
    .replaceAll(/[^A-Za-z]/g, "")
    .toLowerCase();

/** First line of a patch of Codex, which names no file. */
const patchStart = "*** Begin Patch";

/** The first line that says something, masked and cut at a word. */
function shorten(text: string): string {
  const lines = text.split("\n").filter((one) => one.trim() !== "" && one.trim() !== patchStart);
  const line = (lines[0] ?? "").trim();
  const masked = maskSecrets(line.replace(/^\*\*\* /, ""));
  const isWhole = line === text.trim();
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

/** Names of the details that say what a hook's call runs, and what it changes in a file; none of any other action. */
export function listRun({ action, tool, context }: Titled): string[] {
  if (tool === null || context === null || !isGeneric(action, tool)) return [];
  const given = Object.keys(context).filter((name) => (context[name] ?? "").trim() !== "");
  const find = (names: readonly string[]) =>
    names.flatMap((name) => given.find((one) => readName(one) === name) ?? []);
  const [file] = find(files);
  const [main = file] = find(commands);
  if (file === undefined || main === undefined) return main === undefined ? find(others).slice(0, 1) : [main];
  return [...new Set([main, file, ...find(changes)])];
}

/** Commands of Codex may be lists of words. */
function joinWords(text: string): string {
  if (!text.startsWith('["')) return text;
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => typeof word === "string") ? words.join(" ") : text;
  } catch {
    return text;
  }
}

/** Null if the action says it already, or no detail does. */
export const findTitle = (titled: Titled): string | null =>
  listRun(titled).length === 0 ? null : deriveTitle(titled);

/** The action, if it says more than the tool or nothing else is known. */
export function deriveTitle(titled: Titled): string {
  const { action, tool, context } = titled;
  if (tool === null || context === null || !isGeneric(action, tool)) return action;
  const run = listRun(titled);
  const [main] = run.length > 0 ? run : Object.keys(context).filter((name) => context[name]?.trim());
  const value = joinWords(main === undefined ? "" : (context[main] ?? "")).trim();
  const file = run.find((name) => name !== main && files.includes(readName(name)));
  // A file editor's command: "create", "str_replace".
  const isVerb = file !== undefined && /^\w+$/.test(value);
  return value === "" ? action : shorten(isVerb ? `${value} ${context[file]}` : value);
}
