/** The details of a request, in the order in which a person decides about them, each with the look that fits it. */
import { type Marks, markChanges } from "#components/line-diff";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { labelNames, rankName } from "#lib/protocol/approval/detail-names";
import {
  chooseLines,
  deriveTitle,
  type Field,
  findChange,
  isReplaced,
  joinParts,
  listEdits,
  listParts,
  listRun,
  listRunBeside,
  splitLines,
} from "#lib/protocol/record/title";
import { groupSegments, runToText } from "#lib/protocol/text/display-text";
import { type JsonLists, readJsonLists } from "./json-lists";

export interface Detail {
  id: string;
  /** Name as hashed. */
  name: string;
  label: string;
  value: string;
  look: "large" | "text" | "code" | "run";
  /** Value as lists, if it is JSON. */
  lists?: JsonLists;
  /** Part of a long value that is whole further below. */
  excerpt?: string;
  /** True for one of the texts of a list, whole. */
  isListed?: boolean;
  /** Lines that differ and that the excerpt doesn't reach. */
  moreChanges?: number;
  /** Edits of a list behind the last one that is shown. */
  moreEdits?: number;
  /** Places that differ from the text that it replaces, or that replaces it. */
  changes?: Changes;
  /** True for an edit whose changes aren't found. */
  isUnmarked?: boolean;
}

export interface Changes extends Marks {
  readonly kind: "removed" | "added";
}

/** A sentence or two; what is longer would fill a phone's screen in large type. */
export const largeLength = 160;
const largeLines = 6;

/** Digests, ids, keys and encoded data: read character by character, if at all. */
const isCode = (value: string) => /^[!-~]{24,}$/.test(value) && /\d/.test(value);

/** Answers to a question that only the name asks ("Send email"). */
const isFlag = (value: string) => /^(?:true|false|yes|no|null|none)?$/i.test(value.trim());

/** Amounts, then recipients, then the rest, each in the agent's order. */
export function listDetails(context: Readonly<Record<string, string>>): Detail[] {
  const label = labelNames(Object.keys(context));
  return Object.entries(context)
    .map(([name, value]) => {
      const lists = readJsonLists(value);
      const isLarge = rankName(name) < 2 && value.length <= largeLength && !isFlag(value) && lists === null;
      const look = isLarge
        ? ("large" as const)
        : lists === null && isCode(value)
          ? ("code" as const)
          : ("text" as const);
      return { id: `context ${name}`, name, label: label(name), value, look, ...(lists && { lists }) };
    })
    .sort((one, other) => rankName(one.name) - rankName(other.name));
}

interface Described {
  readonly action: string;
  readonly tool?: string | null | undefined;
  readonly context?: Readonly<Record<string, string>> | null | undefined;
}

const toTitled = ({ action, tool = null, context = null }: Described) => ({ action, tool, context });

export const writeTitle = (described: Described): string => deriveTitle(toTitled(described));

const walletTextLength = 500;

/** Text for the wallet's own screen, which shows less than this page: short, hidden characters visible. */
export function describeForWallet({ request, context }: Pick<ApprovalView, "request" | "context">): string {
  let text = "";
  for (const run of groupSegments(`${request.agent_slug}: ${writeTitle({ ...request, context })}`)) {
    const piece = runToText(run);
    const room = walletTextLength - text.length;
    if (piece.length > room) return `${text}${run.kind === "text" ? piece.slice(0, room) : ""} …`;
    text += piece;
  }
  return text;
}

/** A screen's worth of a command or a change; the rest would push the decision off a phone. */
const isShort = (value: string) =>
  value.length <= largeLength && value.trimEnd().split("\n").length <= largeLines;

/** The most telling lines; a long one is cut at a word. */
function cut(value: string): string {
  const whole = chooseLines(splitLines(value), (some) => isShort(some.join("\n")))
    .join("\n")
    .trim();
  const start = [...whole].slice(0, largeLength).join("");
  const end = start === whole ? whole.length : start.search(/\s\S*$/);
  return `${end > largeLength / 2 ? start.slice(0, end) : start} …`;
}

/** Lines of a changed text from the one before its first change, and the places in them. Long lines begin near the change. */
function cutChange(value: string, { kind, lines, words }: Changes, isFirst: boolean) {
  const { from: first, to: end } = lines[0] ?? { from: 0, to: 0 };
  const word = words[0]?.from ?? end;
  const lineBefore = first < 2 ? 0 : value.lastIndexOf("\n", first - 2) + 1;
  const near = Math.max(lineBefore, (word < end ? word : first) - largeLength);
  const isWithinCharacter = (value.codePointAt(near - 1) ?? 0) > 0xffff;
  const start = isWithinCharacter ? near - 1 : near;
  const most = value.slice(start).split("\n").slice(0, largeLines).join("\n");
  const text = [...most].slice(0, 2 * largeLength).join("");
  const lead = start === 0 && isFirst ? "" : start === lineBefore && start > 0 ? "…\n" : "… ";
  const toPlace = (at: number) => Math.min(Math.max(at - start, 0), text.length) + lead.length;
  const move = (ranges: Marks["lines"]) =>
    ranges
      .filter(({ from }) => from < start + text.length)
      .map(({ from, to }) => ({ from: toPlace(from), to: toPlace(to) }));
  return {
    excerpt: `${lead}${text} …`,
    changes: { kind, lines: move(lines), words: move(words) },
    end: start + text.length,
  };
}

/** One of the two texts of a change. */
interface ChangedText extends Marks {
  readonly parts: ReadonlyMap<string, Changes>;
  /** Positions where the parts begin. */
  readonly starts: ReadonlyMap<string, number>;
}

function markParts(
  names: readonly string[],
  texts: readonly string[],
  marks: Marks,
  kind: Changes["kind"],
): ChangedText {
  const [parts, starts] = [new Map<string, Changes>(), new Map<string, number>()];
  let start = 0;
  for (const [i, name] of names.entries()) {
    const [from, end] = [start, start + (texts[i] ?? "").length];
    start = end;
    const pick = (ranges: Marks["lines"]) =>
      ranges
        .filter((range) => range.from < end && range.to > from)
        .map((range) => ({ from: Math.max(range.from, from) - from, to: Math.min(range.to, end) - from }));
    parts.set(name, { kind, lines: pick(marks.lines), words: pick(marks.words) });
    starts.set(name, from);
  }
  return { ...marks, parts, starts };
}

/** Changed lines that have a change behind this place. */
const countBehind = ({ lines, words }: Marks, place: number): number =>
  lines.filter((line) => {
    const word = line.from < place && words.find(({ from, to }) => from >= line.from && to <= line.to);
    return (word || line).to > place;
  }).length;

function findChanges(described: Described): ChangedText[] {
  const found = findChange(toTitled(described));
  if (found === null) return [];
  const read = (name: string) => described.context?.[name] ?? "";
  const [before, after] = [found.before.map(read), found.after.map(read)];
  const { removed, added } = markChanges(before.join(""), after.join(""));
  return [markParts(found.before, before, removed, "removed"), markParts(found.after, after, added, "added")];
}

/** The part in which the first change is, and how many changed lines it doesn't show. */
function showChange(change: ChangedText, details: readonly Detail[]): Detail[] {
  const { parts, starts } = change;
  const all = details.filter(({ name }) => parts.has(name));
  const shown = all.find(({ changes }) => changes && changes.lines.length > 0) ?? all[0];
  if (shown?.changes === undefined) return [];
  if (all.length === 1 && isShort(shown.value)) return [{ ...shown, look: "run" }];
  const { end, ...cut } = cutChange(shown.value, shown.changes, shown === all[0]);
  const moreChanges = countBehind(change, (starts.get(shown.name) ?? 0) + end);
  return [{ ...shown, ...cut, look: "run", moreChanges }];
}

/** So many edits of a list are shown; the list is whole below. */
const maxEdits = 3;

/** The last one has the list's name: the list isn't shown again below if each of its texts is whole here. */
function showEdits({ id, name, label, value: part }: Detail, text: string): Detail[] {
  const edits = listEdits(name, text) ?? [];
  const isWhole =
    text === part &&
    edits.length <= maxEdits &&
    edits.every(({ before, after }) => isShort(before[1]) && isShort(after[1]));
  const marked = edits.map(({ before, after, others }, i) => {
    const { removed, added } = markChanges(before[1], after[1]);
    const place = edits.length === 1 ? label : `${label} ${i + 1} of ${edits.length}`;
    const labelField = labelNames([before[0], after[0]]);
    const side = ([field, value]: Field, kind: Changes["kind"], marks: Marks, more: readonly string[]) => {
      const key = `${id} ${i} ${kind}`;
      const detail = {
        id: key,
        name: key,
        label: `${place}: ${[labelField(field), ...more].join(", ")}`,
        value,
        look: "run" as const,
      };
      const changes = { kind, ...marks };
      if (isWhole) return { ...detail, changes };
      if (isShort(value)) return { ...detail, excerpt: value, changes, isListed: true };
      const { end, ...cut } = cutChange(value, changes, true);
      return { ...detail, ...cut, moreChanges: countBehind(changes, end) };
    };
    return [side(before, "removed", removed, []), side(after, "added", added, others)];
  });
  const more = edits.length - maxEdits;
  const shown = marked.slice(0, maxEdits).flat();
  const last = shown.pop();
  if (last === undefined) return [];
  if (isWhole) return [...shown, { ...last, name }];
  return [...shown, more > 0 ? { ...last, moreEdits: more } : last];
}

/**
 * Calls of hooks begin with what they run; then amounts and recipients, with the action; below it the rest, and the whole of what
 * is cut above it. `isCall`: the action says no more than the tool.
 */
export function splitDetails(described: Described) {
  const call = listRun(toTitled(described));
  const isCall = call.length > 0;
  const changed = findChanges(described);
  const details = listDetails(described.context ?? {}).map((detail): Detail => {
    const own = changed.map(({ parts }) => parts.get(detail.name)).find((part) => part !== undefined);
    return own === undefined ? detail : { ...detail, changes: own };
  });
  const run = (isCall ? call : listRunBeside(toTitled(described))).flatMap((id): Detail[] => {
    const change = changed.find(({ parts }) => parts.has(id));
    if (change !== undefined) return showChange(change, details);
    const detail = details.find(({ name }) => name === id);
    if (detail === undefined) return [];
    const whole = joinParts(described.context ?? {}, id);
    const edits = showEdits(detail, whole);
    if (edits.length > 0) return edits;
    const isCut = whole !== detail.value || !isShort(whole);
    return [{ ...detail, look: "run", isUnmarked: isReplaced(id), ...(isCut && { excerpt: cut(whole) }) }];
  });
  const runNames = run.flatMap(({ name }) => listParts(Object.keys(described.context ?? {}), name));
  const isRun = ({ name }: Detail) => runNames.includes(name);
  const isWhole = ({ name }: Detail) => run.some((one) => one.name === name && one.excerpt === undefined);
  const lead = details.filter((detail) => detail.look === "large" && !isRun(detail));
  const rest = details
    .filter((detail) => !lead.includes(detail) && !isWhole(detail))
    .map((detail): Detail => (isRun(detail) || detail.changes ? { ...detail, look: "code" } : detail));
  return { isCall, run, lead, rest };
}
