/**
 * Statement that logs a roster change. Everyone can list the service's own statements, so this one names the
 * organization by a hash: whoever knows the organization's id finds every change, and nobody else learns whose it is.
 * All of it follows from the head and the key, so whoever holds an approval can rebuild it.
 *
 *     organization = hex SHA-256("countersign roster v1\\n" || organization id)
 */
import { bytesEqual, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { APPROVER_ROSTER_PREDICATE, buildStatement, parseCanonical } from "#lib/protocol/statement/statement";
import { isTime } from "#lib/protocol/time/iso-time";
import { rosterHash } from "./roster";
import type { RosterHead } from "./roster-shape";

/** `predicate` of the signed statement. */
export type RosterChange = Pick<RosterHead, "number" | "previous" | "changed_at"> & {
  /** {@link rosterOrganization}. */
  organization: string;
  /** The service's key that signs the statement. */
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

const isHash = (value: unknown) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** Null for bytes that are not the statement of a roster's change, as {@link buildRosterStatement} writes it. */
export function parseRosterStatement(bytes: Uint8Array): (RosterChange & { roster_hash: string }) | null {
  const statement = parseCanonical(bytes);
  const predicate = statement?.["predicate"];
  const subject = Array.isArray(statement?.["subject"]) ? statement["subject"][0] : null;
  const digest = isJsonObject(subject) ? subject["digest"] : null;
  if (!isJsonObject(predicate) || !isJsonObject(digest)) return null;
  const { number, previous, changed_at, organization, key_id } = predicate;
  const { sha256: roster_hash } = digest;
  const isFirst = number === 1 && previous === null;
  if (!isFirst && !(Number.isSafeInteger(number) && (number as number) > 1 && isHash(previous))) return null;
  if (!isTime(changed_at) || !isHash(organization) || !isHash(roster_hash)) return null;
  if (typeof key_id !== "string" || !/^[0-9a-f]{16}$/.test(key_id)) return null;
  const read = { number, previous, changed_at, organization, key_id, roster_hash } as RosterChange & {
    roster_hash: string;
  };
  return bytesEqual(write(read), bytes) ? read : null;
}
