/**
 * Makes visible what an agent may hide in a string: characters that a font would hide, merge or reorder become segments
 * of their own, and names that mix scripts are reported. The signed hash covers the raw characters; nothing here
 * changes them.
 */
export type DisplaySegment =
  | { readonly kind: "text"; readonly value: string }
  /** `label` is `U+202E`; `value` is the raw character, so that joining all values gives the string back. */
  | { readonly kind: "hidden"; readonly value: string; readonly label: string };

/**
 * Control, format, private use, lone surrogates, line and paragraph separators, noncharacters and everything that
 * Unicode calls default-ignorable (Hangul fillers, variation selectors, tags …).
 */
const invisible =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;
/** Spaces that look like U+0020 and are not. */
const unusualSpace = /\p{Zs}/u;
/**
 * Assigned, not default-ignorable, and yet blank: Braille blank, object replacement, the blanks of Egyptian quadrats,
 * Khitan filler, null notehead.
 */
const blank = /[\u2800\uFFFC\u{13441}\u{13442}\u{16FE4}\u{1D159}]/u;
const mark = /\p{M}/u;
/** Living languages stack up to about five marks; more is drawn over the neighbouring lines. */
const marksAllowed = 6;

export function codePointLabel(character: string): string {
  const codePoint = character.codePointAt(0);
  if (codePoint === undefined) throw new RangeError("codePointLabel: empty string");
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** True for a character that is never shown as itself, wherever it is. */
export function isHiddenCharacter(character: string): boolean {
  if (character === " ") return false;
  return invisible.test(character) || unusualSpace.test(character) || blank.test(character);
}

/** Matches only the ink of ASCII and single words' spaces: most texts, which need no second look. */
const plainAscii = /^[!-~]+(?: +[!-~]+)*$/;
/** Beginning of a mark in plain text. Its bracket becomes a mark itself if an agent wrote it. */
const markOpening = "⟨U+";
const shownOpening = "⟨U+27E8⟩U+";

const isInk = (segment: DisplaySegment) => segment.kind === "text" && segment.value.trim() !== "";

/** The spaces of lines without ink as hidden characters: such a line is blank, however it is written. */
function hideBlankLines(segments: readonly DisplaySegment[]): DisplaySegment[] {
  const shown: DisplaySegment[] = [];
  let line: DisplaySegment[] = [];
  const endLine = () => {
    const hasInk = line.some(isInk);
    for (const segment of line) {
      if (hasInk || segment.kind === "hidden") shown.push(segment);
      else for (const value of segment.value) shown.push({ kind: "hidden", value, label: "U+0020" });
    }
    line = [];
  };
  for (const segment of segments) {
    line.push(segment);
    if (segment.value === "\n") endLine();
  }
  endLine();
  return shown;
}

/**
 * The string in order, as visible text and hidden characters. Spaces at either end, and on lines of nothing else, count
 * as hidden: they can't be seen.
 */
export function segmentText(text: string): DisplaySegment[] {
  if (plainAscii.test(text)) return [{ kind: "text", value: text }];
  const segments: DisplaySegment[] = [];
  const firstInk = text.length - text.trimStart().length;
  const lastInk = text.trimEnd().length;
  let plain = "";
  let marks = marksAllowed;
  let offset = 0;
  for (const character of text) {
    const isMark = mark.test(character);
    const isEdgeSpace = character === " " && (offset < firstInk || offset >= lastInk);
    offset += character.length;
    // A mark without a letter before it would attach itself to whatever precedes it on the page, or show nothing.
    const isLooseMark = isMark && marks >= marksAllowed;
    if (isHiddenCharacter(character) || isEdgeSpace || isLooseMark) {
      if (plain !== "") segments.push({ kind: "text", value: plain });
      plain = "";
      marks = marksAllowed;
      segments.push({ kind: "hidden", value: character, label: codePointLabel(character) });
    } else {
      plain += character;
      if (isMark) marks += 1;
      else marks = character === " " ? marksAllowed : 0;
    }
  }
  if (plain !== "") segments.push({ kind: "text", value: plain });
  return text.includes("\n") ? hideBlankLines(segments) : segments;
}

export type DisplayRun =
  | { readonly kind: "text"; readonly value: string }
  /** Hidden characters in a row, equal neighbours counted. `value` is the raw characters. */
  | { readonly kind: "hidden"; readonly value: string; readonly marks: readonly HiddenMark[] };

export interface HiddenMark {
  readonly label: string;
  readonly count: number;
}

function countMarks(segments: readonly DisplaySegment[]): HiddenMark[] {
  const marks: { label: string; count: number }[] = [];
  for (const segment of segments) {
    if (segment.kind === "text") continue;
    const last = marks.at(-1);
    if (last?.label === segment.label) last.count += 1;
    else marks.push({ label: segment.label, count: 1 });
  }
  return marks;
}

/**
 * The same with hidden characters in a row as one run, so that a thousand of them, or a thousand lines without ink, are
 * one thing to draw and to read. A run ends with its last line break: what follows is on the next line.
 */
export function groupSegments(text: string): DisplayRun[] {
  const runs: DisplayRun[] = [];
  let open: DisplaySegment[] = [];
  const add = (segments: readonly DisplaySegment[]) => {
    const value = segments.map((segment) => segment.value).join("");
    if (value !== "") runs.push({ kind: "hidden", value, marks: countMarks(segments) });
  };
  const close = () => {
    const end = open.findLastIndex(({ value }) => value === "\n") + 1;
    add(open.slice(0, end));
    add(open.slice(end));
    open = [];
  };
  for (const segment of segmentText(text)) {
    if (segment.kind === "hidden") open.push(segment);
    else {
      close();
      runs.push(segment);
    }
  }
  close();
  return runs;
}

/** Writes a run as plain text, the count within the brackets, where no digit of the text can join it: ⟨U+200B × 637⟩. */
export function runToText(run: DisplayRun): string {
  if (run.kind === "text") return run.value.replaceAll(markOpening, shownOpening);
  return run.marks.map(({ label, count }) => (count === 1 ? `⟨${label}⟩` : `⟨${label} × ${count}⟩`)).join("");
}

/** The same in plain text, for places that hold no elements: page titles, labels, feeds, mail, images. */
export function toVisibleText(text: string): string {
  return plainAscii.test(text) ? text : groupSegments(text).map(runToText).join("");
}

/**
 * Brings a text into the form in which a person reads it: NFC, without invisible characters, a single space for each run of
 * white space, none around. Letters of other scripts stay what they are.
 */
export const textAsRead = (text: string): string =>
  text
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replaceAll(/[\s\p{White_Space}]+/gu, " ")
    .trim()
    .normalize("NFC");

/* Text for a picture, whose font has Latin letters only. */

const maxLength = 120;

/**
 * Null for other letters, for which the renderer would ask a foreign host for a font: such a text is left to the page.
 * Hidden characters are outside this range too, the soft hyphen (U+00AD) among them.
 */
export function drawable(text: string): string | null {
  if (!/^[\x20-\x7e\xa1-\xac\xae-\xff\u0100-\u017f\u2010-\u2026\u20ac]*$/.test(text)) return null;
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}

/*
 * Agents' words for programs that turn into a link whatever looks like one: mail, chats, feed readers. They get the
 * visible form, with brackets around the character that makes an address: `https[:]//evil[.]example`, `a[@]b[.]example`.
 * Amounts, dates and times stay as they are: no program links 100.00, 22.11.2026 or 10:30.
 */

/**
 * A dot before a letter, the first dot of an IPv4 address, the colon of a scheme or port, an @, and the backslashes
 * of `\\server`. Domain names know three other dots (UTS 46).
 */
const addressMakers =
  /(?<=[^\s.])[.\u3002\uFF0E\uFF61](?=\p{L})|[.\u3002\uFF0E\uFF61](?=\d{1,3}[.\u3002\uFF0E\uFF61]\d{1,3}[.\u3002\uFF0E\uFF61]\d)|:(?=\/\/)|(?<=\p{L}):(?=\S)|@(?=\S)|\\(?=\\)/gu;

export const toUnlinkedText = (text: string): string => toVisibleText(text).replace(addressMakers, "[$&]");

/** Text in HTML or XML: the five characters that mean something there. */
const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

/** An error's detail as a page says it: "the key is gone" → "The key is gone." */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** "1 attestation", "2,000 attestations": a number with its noun. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  // Written like toLocaleString("en"), whose rules take 20 ms to load.
  return `${String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",")} ${count === 1 ? one : many}`;
}

/** "45 seconds", "58 minutes", "3 hours": never shorter. */
export function formatWait(seconds: number): string {
  if (seconds <= 120) return formatCount(seconds, "second");
  return seconds <= 7_200
    ? formatCount(Math.ceil(seconds / 60), "minute")
    : formatCount(Math.ceil(seconds / 3_600), "hour");
}

/** Adds the cause to the message: all that `fetch` says itself is that it failed. */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  // A host of several addresses that all refuse has a code alone.
  const why = message || code;
  return why ? `${error.message}: ${why}` : error.message;
}
