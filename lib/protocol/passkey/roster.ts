/**
 * Roster of an organization's approvers: one entry for each passkey, the RFC 6962 root over the entries, and a head that names
 * the head before. Each head's hash is logged, so a passkey that the organization did not enrol can't be used without a trace
 * in the log.
 *
 * A deputy has one more entry for each passkey and each person that they decide for, so that entries of version 1 stay byte for
 * byte.
 *
 * An entry names its groups by salted hashes, each with a salt of its own: a reader of one entry and one group learns nothing
 * about other groups and other entries.
 *
 *     group = hex SHA-256(canonical [salt, group id])
 *
 * The person's name is committed to beside them, so that it can be shown to an auditor. Verifiers of 1.0.0 take that hash for
 * one of a group that isn't shown.
 *
 *     name = hex SHA-256(canonical [salt, "name", name])
 */
import {
  base64Decode,
  base64Encode,
  base64UrlDecode,
  bytesEqual,
  hexDecode,
  hexEncode,
  isUuid,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalHash, hasFields, isHash } from "#lib/protocol/encoding/canonical-json";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { APPROVER_ROSTER_PREDICATE, buildStatement, parseStatement } from "#lib/protocol/statement/statement";
import { isTime, readableTime } from "#lib/protocol/time/time-words";
import {
  inclusionRanges,
  isTreeSize,
  leafHash,
  rootOfLeafHashes,
  verifyInclusion,
} from "#lib/protocol/tlog/merkle";
import { maxCoseKeyBytes } from "./assertion";

/* The exact shape of what shows a passkey's place in a roster: nothing is hashed before its fields are known and bounded. */

export type RosterHead = {
  organization: string;
  /** Counted from 1, without a gap. */
  number: number;
  /** `rosterHash` of the head before; null for the first. */
  previous: string | null;
  size: number;
  /** Hex; over the canonical entries, in the order of their names. */
  root: string;
  /** ISO 8601 */
  changed_at: string;
};

export type RosterEntry = {
  /** One person of the organization; a person has one entry for each passkey. */
  approver_id: string;
  /** base64url */
  credential_id: string;
  /** base64url of the COSE key. */
  public_key: string;
  /** Hashes of groups, and of the name; in order, each once. */
  groups: string[];
  /** Time of the passkey's enrolment, ISO 8601. */
  since: string;
  /** base64 of 16 random bytes */
  salt: string;
  /** Set in a deputy's additional entry: for whom they decide, and from when to when; `groups` are that person's. */
  deputy_for?: { approver_id: string; from: string; until: string };
};

export type GroupOpening = {
  group: string;
  /** base64 of 16 random bytes */
  salt: string;
};

export type NameOpening = {
  name: string;
  /** base64 of 16 random bytes */
  salt: string;
};

/** Hashes in an entry: of groups, and of a name. */
export const maxRosterHashes = 100;
/** WebAuthn, section 4: credential ids have at most 1,023 bytes. */
export const maxCredentialIdBytes = 1_023;
const maxProof = 20;
const SALT_BYTES = 16;

const isId = (value: unknown) => typeof value === "string" && isUuid(value);

/** Number of bytes that the text decodes to; null unless it is their one spelling. */
function countBytes(value: unknown, decode: (text: string) => Uint8Array): number | null {
  try {
    return typeof value === "string" ? decode(value).length : null;
  } catch {
    return null;
  }
}

export const isSalt = (value: unknown) => countBytes(value, base64Decode) === SALT_BYTES;

function isWithin(value: unknown, maxBytes: number): boolean {
  const count = countBytes(value, base64UrlDecode);
  return count !== null && count >= 1 && count <= maxBytes;
}

export function isRosterHead(value: unknown): value is RosterHead {
  if (!hasFields(value, "organization", "number", "previous", "size", "root", "changed_at")) return false;
  const { organization, number, previous, size, root, changed_at } = value;
  return (
    isId(organization) &&
    isTreeSize(number as number) &&
    (number === 1 ? previous === null : (number as number) > 1 && isHash(previous)) &&
    isTreeSize(size as number) &&
    isHash(root) &&
    isTime(changed_at)
  );
}

function isGroupList(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > maxRosterHashes || !value.every(isHash)) return false;
  return value.every((group, i) => i === 0 || (value[i - 1] as string) < group);
}

export function isRosterEntry(value: unknown): value is RosterEntry {
  const names = ["approver_id", "credential_id", "public_key", "groups", "since", "salt"];
  if (!hasFields(value, ...names) && !hasFields(value, ...names, "deputy_for")) return false;
  const { approver_id, credential_id, public_key, groups, since, salt } = value;
  return (
    isId(approver_id) &&
    isWithin(credential_id, maxCredentialIdBytes) &&
    isWithin(public_key, maxCoseKeyBytes) &&
    isGroupList(groups) &&
    isTime(since) &&
    isSalt(salt) &&
    (value["deputy_for"] === undefined || isDeputyship(value["deputy_for"]))
  );
}

function isDeputyship(value: unknown): boolean {
  if (!hasFields(value, "approver_id", "from", "until")) return false;
  const { approver_id, from, until } = value;
  return isId(approver_id) && isTime(from) && isTime(until) && from < until;
}

export function isGroupOpening(value: unknown): value is GroupOpening {
  return hasFields(value, "group", "salt") && isId(value["group"]) && isSalt(value["salt"]);
}

/** An inclusion proof in base64. */
export function isProof(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= maxProof &&
    value.every((hash) => countBytes(hash, base64Decode) === 32)
  );
}

export interface Membership {
  head: RosterHead;
  entry: RosterEntry;
  index: number;
  /** base64, from the entry's sibling upwards. */
  proof: string[];
  groups: GroupOpening[];
}

/** Hex SHA-256 of the canonical head: by this name approvals and statements speak of a roster. */
export const rosterHash = (head: RosterHead): string => canonicalHash({ ...head });

export const hashGroup = ({ group, salt }: GroupOpening): string => canonicalHash([salt, group]);

export const hashName = ({ name, salt }: NameOpening): string => canonicalHash([salt, "name", name]);

const entryHash = (entry: RosterEntry) => leafHash(canonicalBytes({ ...entry }));

/** Names an entry in its roster. */
export const entryName = ({ credential_id, deputy_for }: RosterEntry): string =>
  deputy_for === undefined ? credential_id : `${credential_id} ${deputy_for.approver_id}`;

/** Sorts into the roster's order. Throws RangeError if a credential occurs twice for one person. */
export function orderEntries(entries: readonly RosterEntry[]): RosterEntry[] {
  if (new Set(entries.map(entryName)).size !== entries.length)
    throw new RangeError("a credential occurs twice");
  return [...entries].sort((a, b) => (entryName(a) < entryName(b) ? -1 : 1));
}

/** `entries`: in the roster's order. */
export function buildRosterHead(
  entries: readonly RosterEntry[],
  about: Pick<RosterHead, "organization" | "number" | "previous" | "changed_at">,
): RosterHead {
  const root = hexEncode(rootOfLeafHashes(entries.map(entryHash)));
  return { ...about, size: entries.length, root };
}

/** `entries`: in the roster's order. */
export function proveMembership(entries: readonly RosterEntry[], index: number): string[] {
  const hashes = entries.map(entryHash);
  return inclusionRanges(index, hashes.length).map(([from, to]) =>
    base64Encode(rootOfLeafHashes(hashes.slice(from, to))),
  );
}

/** Checks that the entry is in the roster and in each of the groups. It doesn't check whose roster it is. */
export function checkMembership({ head, entry, index, proof, groups }: Membership): Outcome {
  if (!isRosterHead(head)) return fail("roster_malformed", { part: "head" });
  if (!isRosterEntry(entry)) return fail("roster_malformed", { part: "entry" });
  if (!isProof(proof)) return fail("roster_malformed", { part: "proof" });
  const { size, root } = head;
  const siblings = proof.map(base64Decode);
  const claim = { leafHash: entryHash(entry), index, size, proof: siblings, root: hexDecode(root) };
  if (!verifyInclusion(claim)) return fail("roster_proof_invalid");
  const isIn = (opening: unknown) => isGroupOpening(opening) && entry.groups.includes(hashGroup(opening));
  return Array.isArray(groups) && groups.every(isIn)
    ? pass(`in roster ${head.number} since ${entry.since}`)
    : fail("roster_group_mismatch");
}

/*
 * Statement that logs a roster change. Everyone can list the service's own statements, so this one names the
 * organization by a hash: whoever knows the organization's id finds every change, and nobody else learns whose it is.
 * All of it follows from the head and the key, so whoever holds an approval can rebuild it.
 *
 *     organization = hex SHA-256("countersign roster v1\\n" || organization id)
 */

export type RosterChange = Pick<RosterHead, "number" | "previous" | "changed_at"> & {
  /** {@link rosterOrganization}. */
  organization: string;
  key_id: string;
};

const label = utf8Encode("countersign roster v1\n");
const SUBJECT = "approver-roster";

export const rosterOrganization = (organizationId: string): string =>
  hexEncode(sha256(label, utf8Encode(organizationId)));

export function buildRosterStatement(head: RosterHead, keyId: string): Uint8Array {
  const { number, previous, changed_at } = head;
  const organization = rosterOrganization(head.organization);
  return write({ number, previous, changed_at, organization, key_id: keyId, roster_hash: rosterHash(head) });
}

const write = ({ roster_hash, ...change }: RosterChange & { roster_hash: string }) =>
  buildStatement(APPROVER_ROSTER_PREDICATE, SUBJECT, roster_hash, change);

/** Null for bytes that are not the statement of a roster's change, as {@link buildRosterStatement} writes it. */
export function parseRosterStatement(bytes: Uint8Array): (RosterChange & { roster_hash: string }) | null {
  const statement = parseStatement(bytes, APPROVER_ROSTER_PREDICATE);
  if (statement === null) return null;
  const { predicate, digest: roster_hash } = statement;
  const { number, previous, changed_at, organization, key_id } = predicate;
  const isFirst = number === 1 && previous === null;
  if (!isFirst && !(Number.isSafeInteger(number) && (number as number) > 1 && isHash(previous))) return null;
  if (!isTime(changed_at) || !isHash(organization) || !isHash(roster_hash)) return null;
  if (typeof key_id !== "string" || !/^[0-9a-f]{16}$/.test(key_id)) return null;
  const read = { number, previous, changed_at, organization, key_id, roster_hash } as RosterChange & {
    roster_hash: string;
  };
  return bytesEqual(write(read), bytes) ? read : null;
}

/* Changes of who may approve, as an organization's people read them. */

/** A place that a group of the provider or directory gives, and who mapped that group. */
export type MappedPlace = {
  group: string;
  provider_group: string;
  mapped_by: string;
};

export type ApproverChange =
  | { kind: "passkey_added"; person: string; passkey: string; groups: string[]; mapped?: MappedPlace[] }
  | { kind: "passkey_removed"; person: string; passkey: string }
  | { kind: "joined" | "left"; person: string; group: string; mapped?: MappedPlace[] }
  | { kind: "deputy_named"; person: string; deputy: string; from: string; until: string }
  | { kind: "deputy_ended"; person: string; deputy: string };

const explainPlaces = (mapped: readonly MappedPlace[] = []) =>
  mapped
    .map(
      ({ group, provider_group, mapped_by }) =>
        ` (${group} by the group ${provider_group}, mapped by ${mapped_by})`,
    )
    .join("");

export function describeApproverChange(change: ApproverChange): string {
  switch (change.kind) {
    case "passkey_added": {
      const groups = change.groups.length === 0 ? "in no group" : `in ${change.groups.join(", ")}`;
      return `${change.person}, ${groups}: passkey "${change.passkey}" added${explainPlaces(change.mapped)}`;
    }
    case "passkey_removed":
      return `${change.person}: passkey "${change.passkey}" removed`;
    case "deputy_named":
      return `${change.deputy} is the deputy of ${change.person} from ${readableTime(change.from)} to ${readableTime(change.until)}`;
    case "deputy_ended":
      return `${change.deputy} is no longer the deputy of ${change.person}`;
    default:
      return `${change.person} ${change.kind} ${change.group}${explainPlaces(change.mapped)}`;
  }
}
