/**
 * `--match`: which tool calls need a human, as `Bash`, `mcp__bank__*` or `Bash(git push*)`. A pattern in brackets is
 * compared with every text in the arguments and with every part of it between a shell's separators and quotes, so that
 * `cd app && git push` and `bash -c "git push"` match too. Asking once too often is the safe mistake.
 */
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { UsageError } from "#lib/protocol/text/command-words";
import type { DialectName } from "./dialects";
import { listTools, shellsOf, translateTool } from "./tools";

type Matches = (text: string) => boolean;

export interface ToolPattern {
  tool: Matches;
  /** Null: whatever the arguments are. */
  text: Matches | null;
}

export function readPattern(rule: string, dialect: DialectName): ToolPattern {
  const [, tool, text] = /^([^()\s]+)(?:\((.+)\))?$/s.exec(rule) ?? [];
  if (tool === undefined) throw new UsageError(`--match: expected Tool or Tool(pattern), not ${rule}`);
  // Rules of Claude Code may end in ":*", which means a prefix.
  const matchText = text === undefined ? null : readGlob(text.replace(/:\*$/, "*"));
  return { tool: readTool(tool, dialect), text: matchText };
}

/** A pattern for one shell of the agent matches all of them. */
function readTool(tool: string, dialect: DialectName): Matches {
  const globs = translateTool(dialect, tool).map(readGlob);
  const matchesName: Matches = (name) => globs.some((glob) => glob(name));
  const shells = shellsOf(dialect);
  return shells.some(matchesName) ? (name) => shells.includes(name) || matchesName(name) : matchesName;
}

/** Whatever the arguments are. */
export const isMatched = (patterns: readonly ToolPattern[], tool: string) =>
  patterns.length === 0 || patterns.some((one) => one.tool(tool));

export const listUnmatched = (patterns: readonly ToolPattern[], dialect: DialectName) =>
  listTools(dialect).filter((tool) => !isMatched(patterns, tool));

/** `*` is any text, of any length. Not as a RegExp: a model could write what one takes hours for, and agents don't wait. */
function readGlob(glob: string): Matches {
  const [first = "", ...parts] = glob.split("*");
  const last = parts.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}

/** Without patterns, every call does. */
export function needsHuman(patterns: readonly ToolPattern[], tool: string, input: JsonValue): boolean {
  if (patterns.length === 0) return true;
  const texts = listTexts(input).flatMap(partsOf);
  return patterns.some((one) => one.tool(tool) && (one.text === null || texts.some(one.text)));
}

export function listTexts(value: JsonValue): string[] {
  const texts = membersOf(value).flatMap(listTexts);
  // A command may be given as a list of its words.
  return typeof value === "string" || Array.isArray(value) ? [...texts, wordsOf(value).join(" ")] : texts;
}

const membersOf = (value: JsonValue) =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

/** Each text once, or lists in lists would double them with every level. */
const wordsOf = (value: JsonValue): string[] =>
  typeof value === "string" ? [value] : membersOf(value).flatMap(wordsOf);

function partsOf(text: string): string[] {
  const parts = text.split(/[;&|\n\r(){}`"'$<>]+/).map((part) => part.trim());
  return [text, ...parts].map((part) => part.replace(/^(?:\w+=\S*\s+)+/, "").replaceAll(/\s+/g, " "));
}
