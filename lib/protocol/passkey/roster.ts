/**
 * Who may approve for an organization: one entry for each passkey, the RFC 6962 root over the entries, and a head that
 * names the head before. Each head's hash is logged (roster-statement.ts), so a passkey that the organization did not
 * enrol can't be used without a trace in the log.
 *
 * An entry names its groups by salted hashes, each with a salt of its own: who is shown one entry and one group learns
 * nothing about other groups and other entries.
 *
 *     group = hex SHA-256(canonical [salt, group id])
 */
import { base64Decode, base64Encode, hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalHash } from "#lib/protocol/encoding/canonical-json";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { leafHash, rootOfLeafHashes, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { inclusionRanges } from "#lib/protocol/tlog/subtree-ranges";
import {
  type GroupOpening,
  isGroupOpening,
  isProof,
  isRosterEntry,
  isRosterHead,
  type RosterEntry,
  type RosterHead,
} from "./roster-shape";

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

const entryHash = (entry: RosterEntry) => leafHash(canonicalBytes({ ...entry }));

/** In the roster's order. Throws RangeError if a credential occurs twice. */
export function orderEntries(entries: readonly RosterEntry[]): RosterEntry[] {
  if (new Set(entries.map(({ credential_id }) => credential_id)).size !== entries.length)
    throw new RangeError("a credential occurs twice");
  return [...entries].sort((a, b) => (a.credential_id < b.credential_id ? -1 : 1));
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

/** That the entry is in the roster, and in each of the groups. Whose roster it is, is another question. */
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
