/**
 * `--match`: which tool calls need a human, as `Bash`, `mcp__bank__*` or `Bash(git push*)`. A pattern in brackets is
 * compared with every text in the arguments and with every part of it between a shell's separators and quotes, so that
 * `cd app && git push` and `bash -c "git push"` match too. Asking once too often is the safe mistake.
 */
import type { JsonValue } from "#lib/core/encoding/canonical-json";
import { UsageError } from "#lib/core/text/command-words";

export interface ToolPattern {
  tool: RegExp;
  /** Null: whatever the arguments are. */
  text: RegExp | null;
}

export function readPattern(rule: string): ToolPattern {
  const [, tool, text] = /^([^()\s]+)(?:\((.+)\))?$/s.exec(rule) ?? [];
  if (tool === undefined) throw new UsageError(`--match: expected Tool or Tool(pattern), not ${rule}`);
  // Rules of Claude Code may end in ":*", which means a prefix.
  return { tool: toRegExp(tool), text: text === undefined ? null : toRegExp(text.replace(/:\*$/, "*")) };
}

/** `*` is any text, of any length. */
function toRegExp(glob: string): RegExp {
  const parts = glob.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}

/** Without patterns, every call does. */
export function needsHuman(patterns: readonly ToolPattern[], tool: string, input: JsonValue): boolean {
  if (patterns.length === 0) return true;
  const texts = listTexts(input).flatMap(partsOf);
  return patterns.some((one) => one.tool.test(tool) && isFound(one.text, texts));
}

const isFound = (pattern: RegExp | null, texts: readonly string[]) =>
  pattern === null || texts.some((text) => pattern.test(text));

export function listTexts(value: JsonValue): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const texts = Object.values(value).flatMap(listTexts);
  // A command may be given as a list of its words.
  return Array.isArray(value) ? [...texts, texts.join(" ")] : texts;
}

function partsOf(text: string): string[] {
  const parts = text.split(/[;&|\n\r(){}`"'$<>]+/).map((part) => part.trim());
  return [text, ...parts].map((part) => part.replace(/^(?:\w+=\S*\s+)+/, "").replaceAll(/\s+/g, " "));
}
