/**
 * Reads SCIM resources: attributes whatever their case (RFC 7643, section 2.1), filters (RFC 7644, section 3.4.2.2), and
 * patches (section 3.5.2) as Entra ID and Okta send them. Pure.
 */

import { type Filter, filter, parse } from "scim2-parse-filter";
import {
  commonAttributes,
  type ScimAttribute,
  type ScimKind,
  type ScimOperation,
  type ScimPick,
  scimKinds,
} from "#lib/api/schemas/scim";
import { AppError, type ScimType } from "#lib/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";

const refuse = (scimType: ScimType, detail: string) => new AppError("bad_request", detail, { scimType });

const listAttributes = (kind: ScimKind): readonly ScimAttribute[] => [
  ...commonAttributes,
  ...scimKinds[kind].attributes,
];

function findAttribute(attributes: readonly ScimAttribute[], name: string): ScimAttribute | undefined {
  const wanted = name.toLowerCase();
  return attributes.find((one) => one.name.toLowerCase() === wanted);
}

/** Null for an attribute of another schema. */
function stripUrn(kind: ScimKind, path: string): string | null {
  const own = `${scimKinds[kind].urn}:`.toLowerCase();
  if (path.toLowerCase().startsWith(own)) return path.slice(own.length);
  return path.toLowerCase().startsWith("urn:") ? null : path;
}

/**
 * Reads a value in the schema's spelling, without what it doesn't have or others don't set; null and undefined are no value.
 */
function readValue(attribute: ScimAttribute, value: unknown): JsonValue | undefined {
  if (value === null || value === undefined) return undefined;
  const { subAttributes } = attribute;
  if (attribute.multiValued) {
    const one = { ...attribute, multiValued: false };
    return [value].flat().flatMap((item) => {
      // Accepts the bare identifier, which some directories send.
      const sent = subAttributes !== undefined && typeof item === "string" ? { value: item } : item;
      return readValue(one, sent) ?? [];
    });
  }
  if (subAttributes === undefined || !isJsonObject(value as JsonValue)) return value as JsonValue;
  return readAttributes(subAttributes, value as JsonObject);
}

function readAttributes(attributes: readonly ScimAttribute[], sent: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(sent).flatMap(([name, value]) => {
      const attribute = findAttribute(attributes, name);
      if (attribute === undefined || attribute.mutability === "readOnly") return [];
      const read = readValue(attribute, value);
      return read === undefined ? [] : [[attribute.name, read] as const];
    }),
  );
}

export const readResource = (kind: ScimKind, sent: JsonObject): JsonObject =>
  readAttributes(listAttributes(kind), sent);

/* Filters. */

/** Texts are compared whatever their case, but where the schema says otherwise; times whatever their offset. */
const isExact = (path: string) => /(?:^|[.:])(?:external)?id$/i.test(path);
function foldText<T>(value: T, path: string): T | string {
  if (typeof value !== "string" || isExact(path)) return value;
  const time = /(?:^|\.)(?:created|lastModified)$/i.test(path) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? value.toLowerCase() : new Date(time).toISOString();
}

function fold(value: JsonValue, path = ""): JsonValue {
  if (Array.isArray(value)) return value.map((one) => fold(one, path));
  if (!isJsonObject(value)) return foldText(value, path);
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, fold(of, name)]));
}

/** A text as JSON has it, which RFC 7644 asks for; one that isn't JSON's, such as `CORP\ada`'s, as it is. */
function readQuoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted.slice(1, -1).replaceAll('\\"', '"');
  }
}

interface ParsedFilter {
  kind: ScimKind;
  filter: Filter;
  /** Indexed by the numbers that stand for them in the filter: the library reads no escape of JSON's but one. */
  texts: string[];
}

function parseFilter(kind: ScimKind, text: string): ParsedFilter {
  if ([...text].some((character) => character < " "))
    throw refuse("invalidFilter", "filter: must not contain control characters");
  const urn = new RegExp(`\\b${scimKinds[kind].urn.replaceAll(".", "\\.")}:`, "gi");
  const texts: string[] = [];
  const numbered = text
    .replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => `"${texts.push(readQuoted(quoted)) - 1}"`)
    .replaceAll(urn, "")
    // Both must be true of one address, as Entra ID means it: the library would accept two.
    .replace(/\[([^[\]]*)\]\.(\w+ +(?:pr\b|\w+ +[^\s()[\]]+))/gi, "[($1) and $2]");
  try {
    return { kind, filter: parse(numbered), texts };
  } catch {
    throw refuse("invalidFilter", `filter: is not a filter of RFC 7644: ${text.slice(0, 100)}`);
  }
}

const readOperand = ({ texts }: ParsedFilter, value: unknown) =>
  typeof value === "string" ? (texts[Number(value)] ?? "") : value;

type Matches = (folded: JsonObject) => boolean;

/** The library judges comparisons. Of several values it would let each part of a selection be true of another one. */
function toMatches(parsed: ParsedFilter, one: Filter = parsed.filter): Matches {
  if ("filters" in one) {
    const all = one.filters.map((each) => toMatches(parsed, each));
    return (folded) =>
      one.op === "and" ? all.every((each) => each(folded)) : all.some((each) => each(folded));
  }
  if ("filter" in one) {
    const matches = toMatches(parsed, one.filter);
    return (folded) => !matches(folded);
  }
  if ("valFilter" in one) {
    const matches = toMatches(parsed, one.valFilter);
    const name = one.attrPath.toLowerCase();
    return (folded) =>
      Object.entries(folded).some(
        ([key, value]) =>
          key.toLowerCase() === name && [value].flat().some((item) => isJsonObject(item) && matches(item)),
      );
  }
  // An attribute of several values stands for their `value`s, as in `emails co "example.org"` (section 3.4.2.2).
  const isWhole = findAttribute(listAttributes(parsed.kind), one.attrPath)?.multiValued;
  const test = { ...one, attrPath: isWhole ? `${one.attrPath}.value` : one.attrPath };
  if (!("compValue" in test)) return filter(test);
  return filter({
    ...test,
    compValue: foldText(readOperand(parsed, test.compValue), test.attrPath) as string,
  });
}

export function createFilter(kind: ScimKind, text: string): (resource: JsonObject) => boolean {
  const matches = toMatches(parseFilter(kind, text));
  return (resource) => matches(fold(resource) as JsonObject);
}

/** `attributes` and `excludedAttributes` (section 3.9); schemas and id are always there. */
export function pickAttributes(
  resource: JsonObject,
  { attributes, excludedAttributes }: ScimPick,
): JsonObject {
  const asks = (names: readonly string[], name: string) =>
    names.some((one) =>
      [one, one.split(":").at(-1) ?? ""].some((of) => of === name || of.startsWith(`${name}.`)),
    );
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => {
      if (name === "schemas" || name === "id") return true;
      const lower = name.toLowerCase();
      if (attributes !== undefined) return asks(attributes, lower);
      return !(excludedAttributes ?? []).some((one) => (one.split(":").at(-1) ?? "") === lower);
    }),
  );
}

/* Patches. */

interface Target {
  attribute: ScimAttribute;
  /** Selects some of several values. */
  filter: string | undefined;
  sub: ScimAttribute | undefined;
}

const pathPattern = /^([a-z$_][\w$-]*)(?:\[(.+)\])?(?:\.([a-z$_][\w$.-]*))?$/i;

/** Null for an attribute that isn't kept. */
function readTarget(kind: ScimKind, path: string): Target | null {
  const local = stripUrn(kind, path);
  if (local === null) return null;
  const [, name, selected, subName] = pathPattern.exec(local) ?? [];
  if (name === undefined)
    throw refuse("invalidPath", `path: is not a path of RFC 7644: ${path.slice(0, 100)}`);
  const attribute = findAttribute(listAttributes(kind), name);
  if (attribute === undefined) return null;
  if (selected !== undefined && !attribute.multiValued)
    throw refuse("invalidPath", `path: ${attribute.name} has one value, and nothing to select from`);
  if (subName === undefined) return { attribute, filter: selected, sub: undefined };
  const sub = findAttribute(attribute.subAttributes ?? [], subName);
  return sub === undefined ? null : { attribute, filter: selected, sub };
}

type Verb = ScimOperation["op"];

const setMember = (item: JsonObject, name: string, value: JsonValue | undefined): JsonObject => {
  const { [name]: _, ...rest } = item;
  return value === undefined ? rest : { ...rest, [name]: value };
};

function changeItem(op: Verb, item: JsonObject, { attribute, sub }: Target, value: unknown): JsonObject {
  if (sub !== undefined)
    return setMember(item, sub.name, op === "remove" ? undefined : readValue(sub, value));
  const sent = readValue({ ...attribute, multiValued: false }, value);
  if (!isJsonObject(sent ?? null))
    throw new AppError("validation_error", `${attribute.name}: the value must be an object`);
  return { ...item, ...(sent as JsonObject) };
}

const identify = (item: JsonValue) => (isJsonObject(item) ? item["value"] : item);

/** An item that a filter such as `type eq "work"` looks for and doesn't find, as Entra ID sets it. */
function makeItem(parsed: ParsedFilter, attribute: ScimAttribute): JsonObject {
  const one = parsed.filter;
  const name = one.op === "eq" ? findAttribute(attribute.subAttributes ?? [], one.attrPath)?.name : undefined;
  if (name === undefined || !("compValue" in one))
    throw refuse("noTarget", `path: nothing of ${attribute.name} matches`);
  return { [name]: readOperand(parsed, one.compValue) as JsonValue };
}

function changeItems(
  kind: ScimKind,
  op: Verb,
  present: JsonObject[],
  target: Target,
  value: unknown,
): JsonObject[] {
  const { attribute, filter: selected, sub } = target;
  if (selected === undefined && sub === undefined) {
    const sent = (readValue(attribute, value) ?? []) as JsonObject[];
    const ids = new Set(sent.map(identify));
    if (op === "remove") return value === undefined ? [] : present.filter((one) => !ids.has(identify(one)));
    if (op === "replace") return sent;
    return [...present.filter((one) => !ids.has(identify(one))), ...sent];
  }
  const parsed = selected === undefined ? null : parseFilter(kind, selected);
  const matches = parsed === null ? () => true : toMatches(parsed);
  const isMatch = (item: JsonObject) => matches(fold(item) as JsonObject);
  if (op === "remove" && sub === undefined) return present.filter((item) => !isMatch(item));
  const changed = present.map((item) => (isMatch(item) ? changeItem(op, item, target, value) : item));
  if (op === "remove" || present.some(isMatch)) return changed;
  if (parsed === null) throw refuse("noTarget", `path: ${attribute.name} has no value`);
  return [...present, changeItem(op, makeItem(parsed, attribute), target, value)];
}

/** A new primary value takes the place of the one before (section 3.5.2). */
function keepOnePrimary(before: readonly JsonObject[], items: JsonObject[]): JsonObject[] {
  const primary = items.filter((one) => String(one["primary"]).toLowerCase() === "true");
  if (primary.length < 2) return items;
  const known = new Set(before.filter(({ primary }) => primary === true).map(identify));
  return items.map((one) => (known.has(identify(one)) ? { ...one, primary: false } : one));
}

function applyTarget(
  kind: ScimKind,
  resource: JsonObject,
  op: Verb,
  target: Target,
  value: unknown,
): JsonObject {
  const { attribute, sub } = target;
  const { name } = attribute;
  // Null is no value either (section 2.5): it would activate somebody by the default.
  const isRemoved = op === "remove" || readValue(attribute, value) === undefined;
  if (isRemoved && sub === undefined && attribute.required)
    throw refuse("mutability", `path: ${name} can't be removed`);
  const present = resource[name];
  if (attribute.multiValued) {
    const before = (present ?? []) as JsonObject[];
    return { ...resource, [name]: keepOnePrimary(before, changeItems(kind, op, before, target, value)) };
  }
  if (op === "remove" && sub === undefined) return setMember(resource, name, undefined);
  if (attribute.type === "complex")
    return { ...resource, [name]: changeItem(op, (present ?? {}) as JsonObject, target, value) };
  return setMember(resource, name, readValue(attribute, value));
}

function applyOne(kind: ScimKind, resource: JsonObject, { op, path, value }: ScimOperation): JsonObject {
  if (path === undefined || path === "") {
    if (op === "remove") throw refuse("noTarget", "path: is required to remove");
    if (!isJsonObject(value as JsonValue))
      throw new AppError("validation_error", "value: must be an object where there is no path");
    return Object.entries(value as JsonObject).reduce((before, [name, of]) => {
      const isSchema = name.toLowerCase() === scimKinds[kind].urn.toLowerCase();
      if (isSchema) return applyOne(kind, before, { op, value: of });
      const target = readTarget(kind, name);
      // Ignores what only the service sets, like a whole resource does.
      if (target === null || target.attribute.mutability === "readOnly") return before;
      return applyTarget(kind, before, op, target, of);
    }, resource);
  }
  const target = readTarget(kind, path);
  if (target === null) return resource;
  if (target.attribute.mutability === "readOnly")
    throw refuse("mutability", `path: ${target.attribute.name} is set by the service`);
  return applyTarget(kind, resource, op, target, value);
}

/** Patches all or nothing: the result is judged as a whole resource. */
export const patchResource = (
  kind: ScimKind,
  resource: JsonObject,
  operations: readonly ScimOperation[],
): JsonObject => operations.reduce((before, operation) => applyOne(kind, before, operation), resource);
