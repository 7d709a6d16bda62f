/**
 * An opening shows an auditor what an approval only hashes: entries of what the approval page showed (version 2), or all of
 * it (version 1), and the names of the approvers. It lies beside the approval, in the field `opening`
 * of a receipt or of a decision in an evidence pack (docs/wire.md, Openings).
 */
import { isUuid } from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  hasFields,
  isHash,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { hashName, isSalt } from "#lib/protocol/passkey/roster";
import type { Names } from "#lib/protocol/record/facts";
import { listRun } from "#lib/protocol/record/title";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { formatCount } from "#lib/protocol/text/display-text";
import { type Approval, type ApprovalRequest, isPasskeyApproval, requestHash } from "./approval";
import { findPayee } from "./detail-names";
import { parseHumanAuthorization } from "./human-authorization-shape";
import {
  type ContentEntry,
  digestEntry,
  entryKinds,
  hashEntries,
  isShownContent,
  listDigests,
  type OpenedEntry,
  type ShownContent,
  saltEntries,
} from "./shown-content";

/** Name with the salt by which the roster of the approval commits to it; without a salt it is the organization's own word. */
export interface ApproverName {
  approver_id: string;
  name: string;
  salt?: string;
}

export type Opening = {
  type: "opening";
  /** Hash of the request whose approval it belongs to. */
  request_hash: string;
  approvers: ApproverName[];
} & (
  | {
      entries: OpenedEntry[];
      /** Digests of all entries, sorted: together they are what was signed. */
      digests: string[];
    }
  | { content: ShownContent }
);

const isList = (value: unknown, max: number): value is JsonValue[] =>
  Array.isArray(value) && value.length <= max;

/** A context has 32 entries, and names and who asks fewer together. */
const maxEntries = 64;
const maxApprovers = 20;
const maxNameLength = 200;

function isEntry(value: JsonValue): boolean {
  if (!hasFields(value, "kind", "name", "value", "salt")) return false;
  const { kind, name, salt } = value;
  return entryKinds.some((one) => one === kind) && typeof name === "string" && isHash(salt);
}

function isApproverName(value: JsonValue): boolean {
  const isSigned = hasFields(value, "approver_id", "name", "salt");
  if (!isSigned && !hasFields(value, "approver_id", "name")) return false;
  const { approver_id: id, name, salt } = value;
  return (
    (!isSigned || isSalt(salt)) &&
    typeof id === "string" &&
    isUuid(id) &&
    typeof name === "string" &&
    name !== "" &&
    [...name].length <= maxNameLength
  );
}

const isRising = (values: readonly JsonValue[]) =>
  values.every((value, i) => i === 0 || String(values[i - 1]) < String(value));

const contentFields = [
  ...["context", "context_salt", "agent_name", "organization_name", "group_names", "requested_by"],
];

/** Null for any other shape: nothing is hashed before its fields are known and bounded. */
export function parseOpening(value: JsonValue): Opening | null {
  const isWhole = hasFields(value, "type", "request_hash", "approvers", "content");
  if (!isWhole && !hasFields(value, "type", "request_hash", "approvers", "entries", "digests")) return null;
  const { type, request_hash, approvers, content, entries, digests } = value;
  if (type !== "opening" || !isHash(request_hash)) return null;
  if (!isList(approvers, maxApprovers) || !approvers.every(isApproverName)) return null;
  const isShape = isWhole
    ? content !== undefined && hasFields(content, ...contentFields)
    : isList(entries, maxEntries) &&
      entries.every(isEntry) &&
      isList(digests, maxEntries) &&
      digests.every(isHash) &&
      isRising(digests);
  return isShape ? (value as unknown as Opening) : null;
}

const toPlace = ({ kind, name }: ContentEntry) => JSON.stringify([kind, name]);

/** True if each entry is among the digests, none is opened twice, and the digests together are what was signed. */
function areEntriesSigned(entries: readonly OpenedEntry[], digests: readonly string[], signed: string) {
  const places = new Set(entries.map(toPlace));
  return (
    canonicalHash([...digests]) === signed &&
    places.size === entries.length &&
    entries.every((entry) => digests.includes(digestEntry(entry)))
  );
}

const isNameSigned = ({ approver_id, name, salt = "" }: ApproverName, approvals: readonly Approval[]) =>
  approvals.some(
    (one) =>
      isPasskeyApproval(one) &&
      one.approver_id === approver_id &&
      one.roster.entry.groups.includes(hashName({ name, salt })),
  );

function describeNames(approvers: readonly ApproverName[]): string {
  const signed = approvers.filter(({ salt }) => salt !== undefined).length;
  const said = approvers.length - signed;
  return [
    signed === 0 ? "" : `; ${formatCount(signed, "name")} as the roster has them`,
    said === 0 ? "" : `; ${formatCount(said, "name")} by the organization's own word`,
  ].join("");
}

/** Checks an opening as read from a file; `object` is the approval that is verified beside it. */
export function checkOpening(value: JsonValue, object: JsonObject): Outcome {
  const opening = parseOpening(value);
  const authorization = parseHumanAuthorization(object);
  if (opening === null || authorization === null) return fail("opening_malformed");
  const { request, approvals } = authorization;
  if (opening.request_hash !== requestHash(request)) return fail("opening_foreign");
  const ids = approvals.filter(isPasskeyApproval).map(({ approver_id }) => approver_id);
  const named = opening.approvers.map(({ approver_id }) => approver_id);
  const isOwn = named.every((id, i) => ids.includes(id) && named.indexOf(id) === i);
  if (!isOwn) return fail("opening_mismatch", { what: "an approver" });
  if (!opening.approvers.every((one) => one.salt === undefined || isNameSigned(one, approvals)))
    return fail("opening_mismatch", { what: "an approver's name" });
  const names = describeNames(opening.approvers);
  if ("content" in opening)
    return isShownContent(request, opening.content)
      ? pass(`all that the approval page showed${names}`)
      : fail("opening_mismatch", { what: "the content" });
  const { entries, digests } = opening;
  if (request.entries_hash === undefined) return fail("opening_unsupported");
  return areEntriesSigned(entries, digests, request.entries_hash)
    ? pass(
        `${entries.length} of ${formatCount(digests.length, "entry", "entries")} as they were signed${names}`,
      )
    : fail("opening_mismatch", { what: "an entry" });
}

export interface Opened {
  payee: string | null;
  /** Argument that says what a hook's call ran. */
  title?: string;
  requester: string | null;
  names: Names;
}

/** Facts in an opening that {@link checkOpening} has passed; null for any other. */
export function readOpening(value: JsonValue, object: JsonObject): Opened | null {
  const opening = parseOpening(value);
  const authorization = parseHumanAuthorization(object);
  if (opening === null || authorization === null) return null;
  const { required_approvers, action, tool = null } = authorization.request;
  const entries: readonly ContentEntry[] =
    "content" in opening ? saltEntries(opening.content) : opening.entries;
  const texts = (kind: ContentEntry["kind"]) =>
    entries.flatMap(({ kind: of, name, value }): [string, string][] =>
      of === kind && typeof value === "string" ? [[name, value]] : [],
    );
  const groups = texts("group").flatMap(([index, name]): [string, string][] => {
    const { group } = required_approvers[Number(index)] ?? {};
    return group === undefined ? [] : [[group, name]];
  });
  const context = Object.fromEntries(texts("context"));
  // Whole: the owner has chosen to open it.
  const [call] = listRun({ action, tool, context });
  return {
    payee: findPayee(context) || null,
    ...(call !== undefined && { title: context[call] ?? "" }),
    requester: Object.fromEntries(texts("requested_by"))["requester"] || null,
    names: {
      groups: Object.fromEntries(groups),
      approvers: Object.fromEntries(
        opening.approvers.map(({ approver_id, name, salt }) => [
          approver_id,
          salt === undefined ? `${name} (by the organization's own word)` : name,
        ]),
      ),
    },
  };
}

/** `isOpened`: which entries the owner shows; without entry-wise hashes all are shown or none. */
export function buildOpening(
  request: ApprovalRequest,
  shown: ShownContent,
  approvers: ApproverName[],
  isOpened: (entry: ContentEntry) => boolean,
): Opening {
  const common = { type: "opening" as const, request_hash: requestHash(request), approvers };
  if (request.entries_hash === undefined) return { ...common, content: shown };
  if (hashEntries(shown) !== request.entries_hash) throw new RangeError("not the content that was signed");
  return { ...common, entries: saltEntries(shown).filter(isOpened), digests: listDigests(shown) };
}
