/**
 * Conditions of rules in words, with the values of the request. A condition that this can't put into words, or that comes
 * out otherwise here than Cedar said, has none: then its own text is quoted.
 */
import { canonicalAmount, formatAmount, writtenAmountPattern } from "#lib/protocol/approval/amount";
import { formatCount } from "#lib/protocol/text/display-text";
import type { CedarCall, CedarValue } from "./cedar";
import { cedarCall, type RuleContext } from "./rule-context";

type Expression =
  | { kind: "value"; value: CedarValue }
  | { kind: "variable"; name: string }
  | { kind: "get"; of: Expression; name: string }
  | { kind: "call"; of: Expression; name: string; given: Expression }
  | { kind: "has"; of: Expression; name: string }
  | { kind: "like"; of: Expression; pattern: string }
  | { kind: "not"; one: Expression }
  | { kind: "join"; isAnd: boolean; all: Expression[] }
  | { kind: "compare"; operator: string; left: Expression; right: Expression }
  | { kind: "set"; all: Expression[] };

const token = /\s*("(?:\\.|[^"\\])*"|\d+|[A-Za-z_]\w*|::|&&|\|\||==|!=|<=|>=|[-!<>()[\]{},.])/y;

const escapes: Record<string, string> = { n: "\n", r: "\r", t: "\t", "0": "\0" };
/** Decodes Cedar's escapes, which are Rust's; a pattern's `\*` stays. */
const unquote = (text: string) =>
  text
    .slice(1, -1)
    .replaceAll(/\\(?:u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))/gu, (_, long, short, one) =>
      one === undefined
        ? String.fromCodePoint(Number.parseInt(long ?? short, 16))
        : one === "*"
          ? "\\*"
          : (escapes[one] ?? one),
    );

/** JavaScript would round others. */
function readWhole(digits: string): number {
  const whole = Number(digits);
  if (!Number.isSafeInteger(whole)) throw new SyntaxError("a number that has no words");
  return whole;
}

const entity = (type: string, id: string): CedarValue => ({ __entity: { type, id } });

class Parser {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    token.lastIndex = 0;
    while (text.slice(token.lastIndex).trim() !== "") {
      const found = token.exec(text);
      if (found === null) throw new SyntaxError("not a token of Cedar");
      this.#tokens.push(found[1] ?? "");
    }
  }

  readAll(): Expression {
    const read = this.#readJoin(["||", "&&"]);
    if (this.#at < this.#tokens.length) throw new SyntaxError("more than an expression");
    return read;
  }

  #peek = () => this.#tokens[this.#at] ?? "";
  #take = () => this.#tokens[this.#at++] ?? "";
  #skip(wanted: string): boolean {
    if (this.#peek() !== wanted) return false;
    this.#at += 1;
    return true;
  }
  #expect(wanted: string): void {
    if (!this.#skip(wanted)) throw new SyntaxError(`no ${wanted}`);
  }

  #readJoin([operator = "", ...others]: string[]): Expression {
    const next = () => (others.length > 0 ? this.#readJoin(others) : this.#readRelation());
    const all = [next()];
    while (this.#skip(operator)) all.push(next());
    const [first] = all;
    return all.length === 1 && first ? first : { kind: "join", isAnd: operator === "&&", all };
  }

  #readRelation(): Expression {
    const left = this.#readUnary();
    const operator = this.#peek();
    if (/^(?:[!=]=|[<>]=?|in)$/.test(operator)) {
      this.#take();
      return { kind: "compare", operator, left, right: this.#readUnary() };
    }
    if (this.#skip("has")) return { kind: "has", of: left, name: this.#readName() };
    if (this.#skip("like")) return { kind: "like", of: left, pattern: this.#readText() };
    return left;
  }

  #readUnary(): Expression {
    if (this.#skip("!")) return { kind: "not", one: this.#readUnary() };
    if (this.#skip("-")) return { kind: "value", value: -readWhole(this.#take()) };
    let read = this.#readPrimary();
    for (;;) {
      if (this.#skip(".")) {
        const name = this.#readName();
        if (this.#skip("(")) {
          read = { kind: "call", of: read, name, given: this.#readJoin(["||", "&&"]) };
          this.#expect(")");
        } else read = { kind: "get", of: read, name };
      } else if (this.#skip("[")) {
        read = { kind: "get", of: read, name: this.#readText() };
        this.#expect("]");
      } else return read;
    }
  }

  #readPrimary(): Expression {
    const one = this.#take();
    if (one === "(") {
      const read = this.#readJoin(["||", "&&"]);
      this.#expect(")");
      return read;
    }
    if (one === "[") {
      const all: Expression[] = [];
      while (!this.#skip("]")) {
        all.push(this.#readJoin(["||", "&&"]));
        if (this.#peek() !== "]") this.#expect(",");
      }
      return { kind: "set", all };
    }
    if (one.startsWith('"')) return { kind: "value", value: unquote(one) };
    if (/^\d/.test(one)) return { kind: "value", value: readWhole(one) };
    if (one === "true" || one === "false") return { kind: "value", value: one === "true" };
    if (this.#skip("::")) return { kind: "value", value: entity(one, this.#readText()) };
    if (one === "decimal" && this.#skip("(")) {
      const value = { __extn: { fn: one, arg: this.#readText() } };
      this.#expect(")");
      return { kind: "value", value };
    }
    if (!["principal", "resource", "context"].includes(one)) throw new SyntaxError(`${one} has no words`);
    return { kind: "variable", name: one };
  }

  #readName(): string {
    const one = this.#take();
    return one.startsWith('"') ? unquote(one) : one;
  }
  #readText(): string {
    const one = this.#take();
    if (!one.startsWith('"')) throw new SyntaxError("no text");
    return unquote(one);
  }
}

/* Values, as far as words need them; undefined for all else. */

interface Scope {
  call: CedarCall;
  currency: string;
}

type Value = CedarValue | undefined;

const isRecord = (value: Value): value is { [name: string]: CedarValue } =>
  typeof value === "object" && !Array.isArray(value);

const readEntity = (value: Value) =>
  isRecord(value) ? (value["__entity"] as { type: string; id: string } | undefined) : undefined;

/** Numbers in units of 10⁻⁴. */
function toUnits(value: Value): bigint | null {
  if (typeof value === "number") return BigInt(value) * 10_000n;
  const [, whole, part] = /^(-?\d+)\.(\d{1,4})$/.exec(readDecimal(value) ?? "") ?? [];
  return whole === undefined || part === undefined ? null : BigInt(`${whole}${part.padEnd(4, "0")}`);
}

function readDecimal(value: Value): string | null {
  const extension = isRecord(value) ? value["__extn"] : undefined;
  return isRecord(extension) ? String(extension["arg"]) : null;
}

function findEntity({ call }: Scope, value: Value) {
  const named = readEntity(value);
  return call.entities.find(({ uid }) => uid.type === named?.type && uid.id === named.id);
}

const isSame = (one: Value, other: Value): boolean | undefined =>
  one === undefined || other === undefined
    ? undefined
    : JSON.stringify(toUnits(one)?.toString() ?? one) === JSON.stringify(toUnits(other)?.toString() ?? other);

const isAmong = (one: Value, all: Value): boolean | undefined =>
  Array.isArray(all) ? all.some((each) => isSame(one, each)) : isSame(one, all);

const orders: Record<string, string> = {
  lessThan: "<",
  lessThanOrEqual: "<=",
  greaterThan: ">",
  greaterThanOrEqual: ">=",
};

function compareValues(operator: string, one: Value, other: Value): boolean | undefined {
  if (operator === "in") return isAmong(one, other);
  if (operator === "==" || operator === "!=") {
    const same = isSame(one, other);
    return same === undefined ? undefined : same === (operator === "==");
  }
  const [a, b] = [toUnits(one), toUnits(other)];
  if (a === null || b === null) return undefined;
  return { "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b }[operator];
}

function isLike(value: Value, pattern: string): boolean | undefined {
  if (typeof value !== "string") return undefined;
  const parts = pattern.split(/(?<!\\)\*/).map((part) => part.replaceAll("\\*", "*"));
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return value === first;
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.slice(0, value.length - last.length).indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

function evaluate(one: Expression, scope: Scope): Value {
  const read = (part: Expression) => evaluate(part, scope);
  switch (one.kind) {
    case "value":
      return one.value;
    case "variable":
      if (one.name === "context") return scope.call.context;
      return entity(...(Object.values(scope.call[one.name as "principal"]) as [string, string]));
    case "get": {
      const of = read(one.of);
      return findEntity(scope, of)?.attrs[one.name] ?? (isRecord(of) ? of[one.name] : undefined);
    }
    case "has": {
      const of = read(one.of);
      const members = findEntity(scope, of)?.attrs ?? of;
      return isRecord(members) ? Object.hasOwn(members, one.name) : undefined;
    }
    case "call": {
      const [of, given] = [read(one.of), read(one.given)];
      if (one.name === "contains") return isAmong(given, of);
      if (orders[one.name]) return compareValues(orders[one.name] ?? "", of, given);
      const tags = findEntity(scope, of)?.tags;
      if (tags === undefined || typeof given !== "string") return undefined;
      if (one.name === "hasTag") return Object.hasOwn(tags, given);
      return one.name === "getTag" ? tags[given] : undefined;
    }
    case "like":
      return isLike(read(one.of), one.pattern);
    case "not": {
      const value = read(one.one);
      return typeof value === "boolean" ? !value : undefined;
    }
    case "join": {
      for (const part of one.all) {
        const value = read(part);
        if (value !== one.isAnd) return value;
      }
      return one.isAnd;
    }
    case "compare":
      return compareValues(one.operator, read(one.left), read(one.right));
    case "set": {
      const all = one.all.map(read);
      return all.includes(undefined) ? undefined : (all as CedarValue[]);
    }
  }
}

/* Words. */

type Unit = "money" | "weekday" | "hour" | "plain" | "text";

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const subjects: Record<string, readonly [string, Unit]> = {
  "context.amount.value": ["the amount", "money"],
  "context.amount.spent_today": ["the total approved before it that day (UTC)", "money"],
  "context.amount.total_today": ["the day's total with this one (UTC)", "money"],
  "context.amount.currency": ["the currency", "plain"],
  "context.action": ["the action", "text"],
  "context.requester": ["the requester", "text"],
  "context.environment": ["the environment", "plain"],
  "context.hour_utc": ["the hour (UTC)", "hour"],
  "context.weekday_utc": ["the weekday (UTC)", "weekday"],
  "context.uses_today": ["the number of requests approved before it that day (UTC)", "plain"],
  "context.details_count": ["the number of details", "plain"],
  principal: ["the agent", "plain"],
  "principal.name": ["the agent's name", "text"],
  resource: ["the tool", "plain"],
};

/** Sentences for what is true and what is false. */
const statements: Record<string, readonly [string, string]> = {
  "context.details_complete": ["its details are all there is", "its details aren't all there is"],
  "principal.key_registered": ["the agent has a registered key", "the agent has no registered key"],
  "principal.code_hash_known": ["the agent's code is known", "the agent's code isn't known"],
};
const possessions: Record<string, readonly [string, string]> = {
  "context.amount": ["it has an amount", "it has no amount"],
  "context.requester": ["it names a requester", "it names no requester"],
  "principal.name": ["the agent has a name", "the agent has no name"],
};
const tagKinds: Record<string, string> = {
  "context.details": "detail",
  "context.typed.strings": "text",
  "context.typed.longs": "whole number",
  "context.typed.decimals": "number",
  "context.typed.bools": "yes or no",
};

function toPath(one: Expression): string | null {
  if (one.kind === "variable") return one.name;
  if (one.kind !== "get") return null;
  const path = toPath(one.of);
  return path === null ? null : `${path}.${one.name}`;
}

const maxText = 80;
/** Quotes with single marks inside, as in print: the agent's text can't end its own quotation and go on in the rule's name. */
const quote = (text: string) =>
  `“${(text.length > maxText ? `${text.slice(0, maxText)}…` : text).replaceAll(/["“”„‟″〝〞＂]/g, "'")}”`;

/** Usual form of a tool's name; others are quoted, since an agent names its tool as it likes. */
const plainName = /^(?!none$)[\w.:/@-]+$/;

/** The member of a request, or the tag of its details, that is compared. */
function findSubject(one: Expression): readonly [string, Unit] | null {
  if (one.kind !== "call" || one.name !== "getTag") return subjects[toPath(one) ?? ""] ?? null;
  const tag = one.given.kind === "value" ? one.given.value : null;
  const isTag = typeof tag === "string" && tagKinds[toPath(one.of) ?? ""] !== undefined;
  return isTag ? [`the detail ${quote(tag)}`, "text"] : null;
}

function show(value: Value, unit: Unit, { currency }: Scope): string {
  const number = readDecimal(value) ?? (typeof value === "number" ? String(value) : null);
  if (unit === "money" && number !== null && writtenAmountPattern.test(number))
    return formatAmount({ value: canonicalAmount(number), currency });
  if (unit === "weekday" && typeof value === "number") return weekdays[value - 1] ?? String(value);
  if (number !== null) return number.replace(/\.0+$/, "");
  if (typeof value === "string") return unit === "text" ? quote(value) : value;
  const name = readEntity(value)?.id || null;
  return name === null ? "none" : plainName.test(name) ? name : quote(name);
}

const inverse: Record<string, string> = { "<": ">=", "<=": ">", ">": "<=", ">=": "<" };
const mirrored: Record<string, string> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

function describeOrder(operator: string, isTrue: boolean, unit: Unit): string {
  const isTime = unit === "hour" || unit === "weekday";
  switch (isTrue ? operator : inverse[operator]) {
    case "<":
      return isTime ? "is before" : "is below";
    case "<=":
      return isTime ? "isn't after" : isTrue ? "is at most" : "isn't above";
    case ">":
      return isTime ? "is after" : isTrue ? "is above" : "is above the rule's limit of";
    default:
      return isTime ? "isn't before" : isTrue ? "is at least" : "isn't below";
  }
}

const maxNamed = 5;

function describeAmong(one: Expression, all: Value, isTrue: boolean, scope: Scope): string | null {
  const [name, unit] = findSubject(one) ?? [];
  if (name === undefined || unit === undefined) return null;
  const value = evaluate(one, scope);
  if (!Array.isArray(all)) return describeEqual([name, unit], value, all, isTrue, scope);
  const shown = all.slice(0, maxNamed).map((each) => show(each, unit, scope));
  const others = all.length > maxNamed ? ` and ${formatCount(all.length - maxNamed, "other")}` : "";
  const said = `${name}, ${show(value, unit, scope)}, is`;
  return isTrue
    ? `${said} one of ${shown.join(", ")}${others}`
    : `${said} none of ${shown.join(", ")}${others}`;
}

function describeEqual(
  [name, unit]: readonly [string, Unit],
  value: Value,
  wanted: Value,
  isSameValue: boolean,
  scope: Scope,
): string {
  const said = `${name} is ${show(value, unit, scope)}`;
  return isSameValue ? said : `${said}, and the rule says ${show(wanted, unit, scope)}`;
}

function describeComparison(
  operator: string,
  left: Expression,
  right: Expression,
  isTrue: boolean,
  scope: Scope,
): string | null {
  if (operator === "in") return describeAmong(left, evaluate(right, scope), isTrue, scope);
  const subject = findSubject(left);
  if (subject === null)
    return (
      findSubject(right) && describeComparison(mirrored[operator] ?? operator, right, left, isTrue, scope)
    );
  const [name, unit] = subject;
  const [value, other] = [evaluate(left, scope), evaluate(right, scope)];
  const otherName = findSubject(right)?.[0];
  const shown = show(other, unit, scope);
  const than = otherName === undefined ? shown : `${otherName}, ${shown}`;
  if (operator === "==") return describeEqual(subject, value, other, isTrue, scope);
  if (operator === "!=")
    return isTrue
      ? `${name}, ${show(value, unit, scope)}, isn't ${than}`
      : `${name} is ${shown}, which the rule leaves out`;
  const order = describeOrder(operator, isTrue, unit);
  const words = otherName === undefined ? order : order.replace(" the rule's limit of", "");
  return `${name}, ${show(value, unit, scope)}, ${words} ${than}`;
}

const choose = (pair: readonly [string, string] | undefined, isTrue: boolean) =>
  pair?.[isTrue ? 0 : 1] ?? null;

function describeCall(
  { of, name, given }: Expression & { kind: "call" },
  isTrue: boolean,
  scope: Scope,
): string | null {
  if (orders[name]) return describeComparison(orders[name] ?? "", of, given, isTrue, scope);
  if (name === "contains") return describeAmong(given, evaluate(of, scope), isTrue, scope);
  const kind = tagKinds[toPath(of) ?? ""];
  const tag = evaluate(given, scope);
  if (kind === undefined || typeof tag !== "string") return null;
  if (name === "hasTag") return `it has ${isTrue ? "a" : "no"} ${kind} ${quote(tag)}`;
  return name === "getTag" ? `the detail ${quote(tag)} is ${isTrue ? "true" : "false"}` : null;
}

const isHas = (one: Expression) => one.kind === "has" || (one.kind === "call" && one.name === "hasTag");

function describeJoin({ isAnd, all }: Expression & { kind: "join" }, isTrue: boolean, scope: Scope) {
  const equal = all.flatMap((one) => (one.kind === "compare" && one.operator === "==" ? [one] : []));
  const [first] = equal;
  const isOfOne = new Set(equal.map(({ left }) => JSON.stringify(left))).size === 1;
  if (!isAnd && first && isOfOne && equal.length === all.length) {
    const named = evaluate({ kind: "set", all: equal.map(({ right }) => right) }, scope);
    return describeAmong(first.left, named, isTrue, scope);
  }
  const decisive = all.filter((part) => evaluate(part, scope) === isTrue);
  const parts = isAnd === isTrue ? all : decisive.slice(0, 1);
  const telling = parts.filter((part) => parts.length === 1 || !isTrue || !isHas(part));
  const said = telling.map((part) => describe(part, isTrue, scope));
  return said.includes(null) ? null : said.join("; ");
}

function describe(one: Expression, isTrue: boolean, scope: Scope): string | null {
  if (evaluate(one, scope) !== isTrue) return null;
  switch (one.kind) {
    case "not":
      return describe(one.one, !isTrue, scope);
    case "join":
      return describeJoin(one, isTrue, scope);
    case "call":
      return describeCall(one, isTrue, scope);
    case "compare":
      return describeComparison(one.operator, one.left, one.right, isTrue, scope);
    case "has":
      return choose(possessions[`${toPath(one.of)}.${one.name}`], isTrue);
    case "like": {
      const [name, unit] = findSubject(one.of) ?? [];
      if (name === undefined || unit === undefined) return null;
      const value = show(evaluate(one.of, scope), unit, scope);
      return `${name}, ${value}, ${isTrue ? "matches" : "doesn't match"} ${quote(one.pattern)}`;
    }
    default:
      return choose(statements[toPath(one) ?? ""], isTrue);
  }
}

/**
 * Words for a condition, as conditions.ts writes it, that the request met or didn't meet; null without any. They begin
 * in lower case.
 */
export function describeCondition(text: string, isMet: boolean, context: RuleContext): string | null {
  const [, kind, body] = /^(when|unless) \{ ([\s\S]*) \}$/.exec(text) ?? [];
  if (body === undefined) return null;
  const scope = { call: cedarCall(context, "act"), currency: context.amount?.currency ?? "" };
  try {
    return describe(new Parser(body).readAll(), isMet === (kind === "when"), scope);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

/** True for a condition that only lets the next ones be asked, which says nothing of a request that meets it. */
export const isGuard = (text: string): boolean =>
  /^when \{ (?:context has \w+|[\w.]+\.hasTag\("(?:\\.|[^"\\])*"\)) \}$/.test(text);
