/**
 * A title that says what runs, where many requests have the same action ("Use the tool Bash"): derived for display from
 * details that only the organization and its approvers see. Signed, matched and approved is the action itself.
 */
import { findPayeeName, labelNames, rankName } from "#lib/protocol/approval/detail-names";
import { canonicalJson, isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
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
const olds = split("oldstring oldstr oldtext targetcontent before");
const news = split("newstring newstr newtext replacementcontent after");
const changes = [
  ...olds,
  ...news,
  ...split("newsource content contents filetext codecontent edits replacementchunks pattern query"),
];
/** Explanations of a call, and the folder that it runs in. */
const besides = split(
  "description explanation justification instruction cwd workdir workingdir workingdirectory directory dirpath",
);

/** A hook's action, which names the tool and no more. */
const isGeneric = (action: string, tool: string) => action === `Use the tool ${tool}`;

/** Tells an action in the agent's own words from a hook's. */
export const isWorded = (action: string, tool: string | null): boolean =>
  tool === null || !isGeneric(action, tool);

const partMark = / \(\d+\/\d+\)$/;

/** The name and, if it is a part of a long value ("command (01/3)"), those of the other parts. */
export function listParts(names: readonly string[], name: string): string[] {
  const own = name.replace(partMark, "");
  return own === name ? [name] : names.filter((one) => one !== own && one.replace(partMark, "") === own);
}

type Context = Readonly<Record<string, string>>;

/** Text of a detail in all of its parts. */
export const joinParts = (context: Context, name: string): string =>
  listParts(Object.keys(context), name)
    .map((part) => context[part] ?? "")
    .join("");

const readName = (name: string) =>
  name
    .replace(/ \(.*\)$/, "")
    .replaceAll(/[^A-Za-z]/g, "")
    .toLowerCase();

/** True for more than a word or a number, whatever its name: the tool may run it. */
const mayRun = (context: Context, name: string) =>
  !besides.includes(readName(name)) && /\S\s+\S|^[[{].*"/s.test(joinParts(context, name));

/** Detail that the gate before an MCP server puts beside the arguments. */
export const mcpServerName = "MCP server";

/** Arguments that aren't empty, each by its first part. */
function listGiven(context: Context): string[] {
  const given = Object.keys(context).filter(
    (name) => name !== mcpServerName && (context[name] ?? "").trim() !== "",
  );
  return given.filter((name) => listParts(given, name)[0] === name);
}

/** First and last line of a patch of Codex, which name no file. */
const patchStart = "*** Begin Patch";
const patchEnds = /^\*\*\* (?:Begin|End) Patch\s*$/;

/** Lines with something in them, also as PowerShell and JavaScript read a text: what follows a comment's end is none. */
export const splitLines = (text: string): string[] =>
  text.split(/[\r\n\u2028\u2029]/).filter((line) => line.trim() !== "");

/** Comments, and options of a shell. */
const isNoise = (line: string) => /^\s*(?:#|set(?: [-+\w]+)+\s*$)/.test(line);
/** A folder to work in, or a word, but for variables that choose what runs, such as PATH, BASH_ENV and GIT_SSH_COMMAND. */
const folder = /^\s*(?:cd|pushd) [^;&|`()<>]*$/;
const value = /^\s*(?:export )?\w+=(["']?)[^\s"'`();&|<>/]*\1\s*$/;
const choosing = /^[^=]*(?:PATH|ENV|PRELOAD|OPT|COMMAND|STARTUP|EDITOR|PAGER|SHELL)/;
const isPreparing = (line: string) => folder.test(line) || (value.test(line) && !choosing.test(line));

/**
 * The lines that people need to see if not all fit: a harmless first line must not hide what follows. Comments go first, then
 * what only prepares the line after it. At least one line, however long; the caller says that others are missing.
 */
export function chooseLines(lines: readonly string[], doesFit: (some: readonly string[]) => boolean) {
  if (doesFit(lines)) return lines;
  const acting = lines.filter((line) => !isNoise(line));
  const some = acting.length > 0 ? acting : lines;
  const first = Math.max(
    0,
    some.findIndex((line) => !isPreparing(line)),
  );
  const start = doesFit(some.slice(0, first + 1)) ? 0 : first;
  let end = first + 1;
  while (end < some.length && doesFit(some.slice(start, end + 1))) end += 1;
  return some.slice(start, end);
}

/** No more of a long text is read for its title. */
const maxSearched = 4_000;
const isLong = (text: string) => [...text].length > maxTitle;

function cutAtWord(text: string): string {
  if (!isLong(text)) return text;
  const cut = [...text].slice(0, maxTitle).join("");
  const space = cut.lastIndexOf(" ");
  return `${space > maxTitle / 2 ? cut.slice(0, space) : cut} …`;
}

/** Masked, and its lines with a sign between them that means nothing to a shell. */
function shorten(text: string): string {
  const isPatch = text.startsWith(patchStart);
  const listLines = (of: string) => splitLines(of).filter((line) => !patchEnds.test(line));
  const searched = listLines(text.slice(0, maxSearched).trim());
  const whole = text.length > maxSearched && searched.length > 1 ? searched.slice(0, -1) : searched;
  const headers = whole.filter((line) => isPatch && line.startsWith("*** "));
  const lines = (headers.length > 0 ? headers : whole).map((line) =>
    maskSecrets(line.trim().replace(/^\*\*\* /, "")),
  );
  const join = (some: readonly string[]) => some.join(" · ");
  const chosen = chooseLines(lines, (some) => !isLong(join(some)));
  const shown = join(chosen);
  // "cd /a/long/path && make": it would be all that is seen.
  const [prepared = ""] = isLong(shown) ? (/^(.*?)&&/.exec(shown) ?? []) : [];
  const title = cutAtWord(
    isPreparing(prepared.slice(0, -2)) ? `… ${shown.slice(prepared.length).trim()}` : shown,
  );
  const more = listLines(text).length - chosen.length;
  if (more === 0) return title;
  return `${title.replace(/ …$/, "")} … and ${formatCount(more, "more line")}`;
}

interface Titled {
  readonly action: string;
  readonly tool: string | null;
  readonly context: Context | null;
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

/** Finds details by their names as read, in the order of the names asked for. */
const createFinder = (given: readonly string[]) => (asked: readonly string[]) =>
  asked.flatMap((name) => given.filter((one) => readName(one) === name));

/** Names of the details that say what a hook's call runs, and what it changes in a file; none of any other action. */
export function listRun({ action, tool, context }: Titled): string[] {
  if (tool === null || context === null || !isGeneric(action, tool)) return [];
  const first = listGiven(context);
  const find = createFinder(first);
  // A tool ignores arguments that it doesn't know: a harmless one must not stand for the one that it reads.
  const maybe = first.filter((one) => mayRun(context, one));
  const [run, file] = [find(commands), find(files)];
  if (file.length > 0) return [...new Set([...run, ...file, ...find(changes), ...maybe])];
  const main = run.length > 0 ? run : find(others).slice(0, 1);
  return main.length > 0 ? [...new Set([...main, ...maybe])] : [];
}

/** Names that say it beside an action in the agent's own words ("Run the migration"), whatever the tool is. */
const plainCommands = split("command cmd commandline script argv patch patchtext diff sql query statement");

/** Details that say so beside an action in the agent's own words, which may leave out what matters. */
export function listRunBeside({ action, tool, context }: Titled): string[] {
  if (context === null || !isWorded(action, tool)) return [];
  const find = createFinder(listGiven(context));
  const pair = olds.flatMap((old, at) => {
    const [before, after] = [find([old]), find(news.slice(at, at + 1))];
    return before.length > 0 && after.length > 0 ? [...before, ...after] : [];
  });
  const listed = find(lists).filter((name) => listEdits(name, joinParts(context, name)) !== null);
  const edited = [...pair, ...listed];
  return [...new Set([...find(plainCommands), ...(edited.length > 0 ? [...find(files), ...edited] : [])])];
}

/** Names of the details that hold a changed part of a file before and after, in all of their parts; null unless it is one pair. */
export function findChange(titled: Titled): { before: string[]; after: string[] } | null {
  const run = [...listRun(titled), ...listRunBeside(titled)];
  const names = run.length === 0 ? [] : Object.keys(titled.context ?? {});
  const findParts = (one: string | undefined) => {
    const alike = names.filter((name) => readName(name) === one);
    const parts = alike[0] === undefined ? [] : listParts(names, alike[0]).sort();
    const isWhole = parts.every(
      (name, at) => !partMark.test(name) || name.endsWith(`${at + 1}/${parts.length})`),
    );
    return isWhole && parts.length === alike.length ? parts : [];
  };
  const found = olds.flatMap((old, i) => {
    const [before, after] = [findParts(old), findParts(news[i])];
    return before.length > 0 && after.length > 0 ? [{ before, after }] : [];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

const lists = ["edits", "replacementchunks"];

/** True for a detail that says which text of a file is replaced, perhaps in a list. */
export const isReplaced = (name: string): boolean => [...olds, ...lists].includes(readName(name));

export type Field = readonly [name: string, text: string];

export interface Edit {
  before: Field;
  after: Field;
  /** Numbers and the like: "replace_all true". */
  others: readonly string[];
}

function readEdit(json: JsonValue): Edit | null {
  const fields = isJsonObject(json) ? Object.entries(json) : [];
  const find = (names: readonly string[]) =>
    fields.flatMap(([name, value]): Field[] =>
      names.includes(readName(name)) && typeof value === "string" ? [[name, value]] : [],
    );
  const [before, after] = [find(olds), find(news)];
  const others = fields.filter(([, value]) => typeof value !== "string" && typeof value !== "object");
  // A tool reads one of several, or a text that isn't marked here.
  if (before[0] === undefined || after[0] === undefined || fields.length - others.length !== 2) return null;
  return { before: before[0], after: after[0], others: others.map(([name, value]) => `${name} ${value}`) };
}

/** Parts of a file before and after, of a detail that is a list of them; null if one isn't a single pair of texts. */
export function listEdits(name: string, text: string): Edit[] | null {
  if (!lists.includes(readName(name))) return null;
  try {
    const list = parseStrictJson(text);
    const edits = Array.isArray(list) ? list.map(readEdit) : [];
    return edits.length > 0 && edits.every((one) => one !== null) ? edits : null;
  } catch {
    return null;
  }
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

/** Says briefly what runs beside an action in the agent's own words; null if no detail does. */
export function describeRunBeside(titled: Titled): string | null {
  const { context } = titled;
  const changed = findChange(titled);
  const isChanged = (name: string) => changed?.before.includes(name) || changed?.after.includes(name);
  const names = listRunBeside(titled).filter((name) => !isChanged(name) && !lists.includes(readName(name)));
  if (context === null || names.length === 0) return null;
  return (
    shorten(
      names
        .map((name) => joinWords(joinParts(context, name)))
        .join("\n")
        .trim(),
    ) || null
  );
}

const maxBriefDetail = 60;
const isBrief = (value: string) =>
  value.length <= maxBriefDetail && !/^\s*(?:[[{].*|true|false|yes|no|null|none)?\s*$|[\r\n]/is.test(value);

/** One line for lists below an action in the agent's own words: what runs, or else two details unless a payee tells it apart. */
export function describeBriefly(titled: Titled): string | null {
  const { action, tool, context } = titled;
  if (context === null || !isWorded(action, tool)) return null;
  const run = describeRunBeside(titled);
  if (run !== null || findPayeeName(context) !== null) return run;
  const label = labelNames(Object.keys(context));
  const details = Object.entries(context)
    .filter(([name, value]) => isBrief(value) && !besides.includes(readName(name)))
    .sort(([one], [other]) => rankName(one) - rankName(other))
    .slice(0, 2);
  return details.map(([name, value]) => maskSecrets(`${label(name)}: ${value}`)).join(" · ") || null;
}

/** Null if the action says it already, or no detail does. */
export const findTitle = (titled: Titled): string | null =>
  listRun(titled).length === 0 ? describeRunBeside(titled) : deriveTitle(titled);

/** The action, if it says more than the tool or nothing else is known. */
export function deriveTitle(titled: Titled): string {
  const { action, tool, context } = titled;
  if (tool === null || context === null || !isGeneric(action, tool)) return action;
  const run = listRun(titled);
  const given = listGiven(context);
  const names = run.length > 0 ? run : given.filter((name, at) => at === 0 || mayRun(context, name));
  const [main = ""] = names;
  const file = run.find((name) => files.includes(readName(name)));
  const like = [commands, files].find((some) => some.includes(readName(main))) ?? [];
  const apart = file === undefined ? [] : [...files, ...changes];
  const isTelling = (name: string) =>
    name === main ||
    like.includes(readName(name)) ||
    (mayRun(context, name) && !apart.includes(readName(name)));
  // A word or a number under a name of the tool's own says nothing without it.
  const write = (name: string) => {
    const text = joinWords(joinParts(context, name));
    return run.length > 0 || mayRun(context, name) ? text : `${name.replace(partMark, "")}: ${text}`;
  };
  const [first = "", ...more] = names.filter(isTelling).map(write);
  // A file editor's command: "create", "str_replace".
  const isVerb = file !== undefined && file !== main && /^\w+$/.test(first.trim());
  const whole = [isVerb ? `${first.trim()} ${context[file]}` : first, ...more].join("\n").trim();
  return shorten(whole) || action;
}
