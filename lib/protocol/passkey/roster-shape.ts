/** The exact shape of what shows a passkey's place in a roster: nothing is hashed before its fields are known and bounded. */
import { base64Decode, base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { isUuid } from "#lib/protocol/encoding/uuid";
import { isTime } from "#lib/protocol/time/iso-time";
import { isTreeSize } from "#lib/protocol/tlog/merkle";
import { maxCoseKeyBytes } from "./cose-key";

export type RosterHead = {
  /** The organization's id, as in an approval's request. */
  organization: string;
  /** From 1, without a gap. */
  number: number;
  /** `rosterHash` of the head before; null for the first. */
  previous: string | null;
  /** How many entries. */
  size: number;
  /** Hex; over the canonical entries, in the order of their credential ids. */
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
  /** In order, each once. */
  groups: string[];
  /** When the passkey was enrolled, ISO 8601. */
  since: string;
  /** base64 of 16 random bytes */
  salt: string;
};

/** Shows that an entry is in the group. */
export type GroupOpening = {
  /** The group's id. */
  group: string;
  /** base64 of 16 random bytes */
  salt: string;
};

const maxGroups = 100;
/** WebAuthn, section 4: credential ids have at most 1,023 bytes. */
export const maxCredentialIdBytes = 1_023;
const maxProof = 20;
const SALT_BYTES = 16;

function hasFields(value: unknown, ...names: string[]): value is Record<string, unknown> {
  return isJsonObject(value) && Object.keys(value).sort().join() === names.sort().join();
}

const isHash = (value: unknown) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isId = (value: unknown) => typeof value === "string" && isUuid(value);

/** How many bytes the text decodes to; null unless it is their one spelling. */
function countBytes(value: unknown, decode: (text: string) => Uint8Array): number | null {
  try {
    return typeof value === "string" ? decode(value).length : null;
  } catch {
    return null;
  }
}

const isSalt = (value: unknown) => countBytes(value, base64Decode) === SALT_BYTES;

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
  if (!Array.isArray(value) || value.length > maxGroups || !value.every(isHash)) return false;
  return value.every((group, i) => i === 0 || (value[i - 1] as string) < group);
}

export function isRosterEntry(value: unknown): value is RosterEntry {
  if (!hasFields(value, "approver_id", "credential_id", "public_key", "groups", "since", "salt"))
    return false;
  const { approver_id, credential_id, public_key, groups, since, salt } = value;
  return (
    isId(approver_id) &&
    isWithin(credential_id, maxCredentialIdBytes) &&
    isWithin(public_key, maxCoseKeyBytes) &&
    isGroupList(groups) &&
    isTime(since) &&
    isSalt(salt)
  );
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
