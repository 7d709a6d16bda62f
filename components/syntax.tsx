/** Colours of our own samples, made by the server: comments, strings, and the words of each language. */
import type { ReactNode } from "react";

const strings = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
const slashComments = String.raw`(?<![:\w])//[^\n]*|/\*[\s\S]*?\*/`;
const hashComments = String.raw`(?<![^\s])#[^\n]*`;
const words = (list: string) => String.raw`\b(?:${list.replaceAll(" ", "|")})\b`;

interface Grammar {
  readonly comment: string;
  readonly string: string;
  readonly keyword: string;
}

const javascript: Grammar = {
  comment: slashComments,
  string: `${strings}|${"`(?:\\\\.|[^`\\\\])*`"}`,
  keyword: words(
    "as async await break case catch class const continue default delete else export extends false finally for from " +
      "function if import in instanceof interface let new null of return switch throw true try type typeof undefined while",
  ),
};

const grammars: Readonly<Record<string, Grammar>> = {
  js: javascript,
  ts: javascript,
  json: { comment: "(?!)", string: strings, keyword: words("true false null") },
  sh: {
    comment: hashComments,
    string: String.raw`"(?:\\.|[^"\\])*"|'[^']*'`,
    keyword: String.raw`\$\{?\w+\}?|(?<=^|[\n|;&(]\s*)(?:curl|jq|node|npm|npx|pip|python3?|openssl|export|docker|git|cd|sudo|uv)\b`,
  },
  python: {
    comment: hashComments,
    string: String.raw`"""[\s\S]*?"""|[fr]?(?:${strings})`,
    keyword: words(
      "and as async await class def elif else except False finally for from if import in is lambda None not or pass " +
        "raise return True try while with yield",
    ),
  },
  cedar: {
    comment: slashComments,
    string: strings,
    keyword: words(
      "permit forbid when unless principal action resource context has in like is if then else true false",
    ),
  },
};

const expressions = new Map(
  Object.entries(grammars).map(([language, { comment, string, keyword }]) => [
    language,
    new RegExp(`(?<comment>${comment})|(?<string>${string})|(?<keyword>${keyword})`, "g"),
  ]),
);

const classes = { comment: "c", string: "s", keyword: "k" } as const;
type Kind = keyof typeof classes;

/** Parts of a text, in order; together they are the text. A language that is unknown here has one part. */
function tokenize(code: string, language: string): { kind: Kind | null; text: string }[] {
  const expression = expressions.get(language);
  if (expression === undefined) return [{ kind: null, text: code }];
  const tokens: { kind: Kind | null; text: string }[] = [];
  let end = 0;
  for (const { index, 0: text, groups = {} } of code.matchAll(expression)) {
    if (index > end) tokens.push({ kind: null, text: code.slice(end, index) });
    const kind = (Object.keys(classes) as Kind[]).find((name) => groups[name] !== undefined) ?? null;
    tokens.push({ kind, text });
    end = index + text.length;
  }
  if (end < code.length) tokens.push({ kind: null, text: code.slice(end) });
  return tokens;
}

/** Few bytes for each token: a page of the reference has hundreds. */
export function Syntax({ code, language }: { readonly code: string; readonly language: string }): ReactNode {
  return tokenize(code, language).map(({ kind, text }, index) =>
    kind === null ? (
      text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text that never changes
      <i key={index} className={classes[kind]}>
        {text}
      </i>
    ),
  );
}
