/** Content that the approval page shows and the object hides, bound to the request by a salted hash. */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import type { RequestedBy } from "./assign-groups";

/** The names that the page shows; null if there is none. */
export interface ShownNames {
  agent_name: string | null;
  organization_name: string | null;
  /** Names of the required groups, in the request's order. */
  group_names: string[];
}

export interface ShownContent extends Record<keyof ShownNames, JsonValue> {
  context: JsonValue;
  context_salt: JsonValue;
  requested_by: JsonValue;
  /** Set with a counter-offer: the salt of the request that it changes, and the changed details as they were. */
  before?: { context_salt: JsonValue; context: JsonValue };
  /** Questions of approvers, with their answers, if there are any. */
  questions?: JsonValue;
}

/** Hides context, names and who asks from readers without the salt. */
export function contextHash(
  context_salt: string,
  context: Record<string, string>,
  names: ShownNames,
  requestedBy: RequestedBy,
): string {
  const requested_by = requestedBy as unknown as JsonObject;
  return hashShown({ context, context_salt, ...names, requested_by });
}

function hashShown({ context, context_salt, requested_by, ...names }: ShownContent): string {
  const { agent_name, organization_name, group_names } = names;
  const covered = [context_salt, context, { agent_name, organization_name, group_names }, requested_by];
  return hexEncode(sha256(canonicalBytes(covered)));
}

interface HashedContent {
  context_hash: string;
  entries_hash?: string;
}

export function isShownContent(request: HashedContent, shown: ShownContent): boolean {
  const { context_hash, entries_hash } = request;
  return (
    hashShown(shown) === context_hash && (entries_hash === undefined || hashEntries(shown) === entries_hash)
  );
}

/*
 * Version 2 hashes each entry of the content with a salt of its own, so that one can be shown without the others
 * (docs/decisions/0051-opening-names-to-an-auditor.md):
 *
 *     salt   = hex SHA-256(canonical [context_salt, kind, name])
 *     digest = hex SHA-256(canonical [salt, kind, name, value])
 *     entries_hash = hex SHA-256(canonical sorted digests)
 */

/** `group`: by its index in the request's required approvers. `requested_by`: a field of who asks. */
export const entryKinds = ["context", "name", "group", "requested_by"] as const;

export interface ContentEntry {
  kind: (typeof entryKinds)[number];
  name: string;
  value: JsonValue;
}

/** `salt`: hex. */
export interface OpenedEntry extends ContentEntry {
  salt: string;
}

const listFields = (kind: ContentEntry["kind"], value: JsonValue): ContentEntry[] =>
  isJsonObject(value) ? Object.entries(value).map(([name, field]) => ({ kind, name, value: field })) : [];

function listEntries({ context, agent_name, organization_name, group_names, requested_by }: ShownContent) {
  const groups = Array.isArray(group_names) ? group_names : [];
  return [
    ...listFields("context", context),
    ...listFields("name", { agent_name, organization_name }),
    ...groups.map((value, i): ContentEntry => ({ kind: "group", name: String(i), value })),
    ...listFields("requested_by", requested_by),
  ];
}

/** Pairs every entry with its salt: a reader of one can't guess another. */
export const saltEntries = (shown: ShownContent): OpenedEntry[] =>
  listEntries(shown).map((entry) => ({
    ...entry,
    salt: canonicalHash([shown.context_salt, entry.kind, entry.name]),
  }));

export const digestEntry = ({ salt, kind, name, value }: OpenedEntry): string =>
  canonicalHash([salt, kind, name, value]);

export const listDigests = (shown: ShownContent): string[] => saltEntries(shown).map(digestEntry).sort();

export const hashEntries = (shown: ShownContent): string => canonicalHash(listDigests(shown));

/*
 * Statement of a gate about the details that it shows (docs/wire.md, What an approval covers): whether they are all of what
 * the action acts on, and the type of each. A typed value is the text that people read, so the two can't differ.
 */

export type SignedDetails = {
  complete: boolean;
  /** A letter for each entry of the context in the order of RFC 8785: s text, n number, b boolean, - untyped. */
  types: string;
};

export const detailTypes = ["string", "number", "boolean"] as const;
export type DetailType = (typeof detailTypes)[number];

export const signedTypesPattern = /^[snb-]{0,32}$/;

/** Numbers as RFC 8785 writes them, within Cedar's decimals. */
const numberPattern = /^(?:0|-?(?:[1-9]\d{0,13}(?:\.\d{0,3}[1-9])?|0\.\d{0,3}[1-9]))$/;

const forms: Record<DetailType, RegExp> = { string: /^/, number: numberPattern, boolean: /^(?:true|false)$/ };
const letters: Record<string, DetailType> = { s: "string", n: "number", b: "boolean" };

export const isOfType = (type: DetailType, text: string): boolean => forms[type].test(text);

export function typeOfValue(value: JsonValue, text: string): DetailType | undefined {
  const type = detailTypes.find((one) => one === typeof value);
  return type !== undefined && isOfType(type, text) ? type : undefined;
}

const sortedNames = (context: object) => Object.keys(context).sort();

export const writeTypes = (
  context: Record<string, string>,
  types: Readonly<Record<string, DetailType>>,
): string =>
  sortedNames(context)
    .map((name) => (Object.hasOwn(types, name) ? (types[name]?.[0] ?? "-") : "-"))
    .join("");

/** The entries of each type; null if the types are those of other details. `context`: as read from a file. */
export function readTypes(
  { types }: SignedDetails,
  context: JsonValue,
): Record<DetailType, [name: string, text: string][]> | null {
  if (typeof context !== "object" || context === null || Array.isArray(context)) return null;
  const names = sortedNames(context);
  if (names.length !== types.length) return null;
  const read: Record<DetailType, [string, string][]> = { string: [], number: [], boolean: [] };
  for (const [at, name] of names.entries()) {
    const [type, text] = [letters[types[at] ?? "-"], context[name]];
    if (type === undefined) continue;
    if (typeof text !== "string" || !isOfType(type, text)) return null;
    read[type].push([name, text]);
  }
  return read;
}

const detailPrefix = "context.";

/** The detail's name; null for `amount`; undefined for no field. */
export function readField(field: string): string | null | undefined {
  if (field === "amount") return null;
  return field.startsWith(detailPrefix) && field.length > detailPrefix.length
    ? field.slice(detailPrefix.length)
    : undefined;
}

export const toField = (name: string): string => detailPrefix + name;

/** Names of the details among the fields. */
export const listDetails = (fields: readonly string[]): string[] =>
  fields.flatMap((field) => readField(field) ?? []);
