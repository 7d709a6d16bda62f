/**
 * Signed statement in the agent's record that its organization froze or unfroze it, or revoked an approval. Hashes
 * only: the reason stays with the organization, and without the salt nobody can test a guess of it.
 */
import { bytesEqual, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { AGENT_CHANGE_PREDICATE, buildStatement, parseCanonical } from "#lib/protocol/statement/statement";
import { isRecordPlace, type RecordPlace } from "./agent-record";

export const agentChanges = ["frozen", "unfrozen", "authorization_revoked"] as const;
export type AgentChangeKind = (typeof agentChanges)[number];

export interface AgentChange {
  change: AgentChangeKind;
  changed_at: string;
  /** The service's key that signs the statement. */
  key_id: string;
  /** Hex SHA-256 of the canonical `[salt, reason]`; null if none was given. */
  reason_hash: string | null;
  /** Hex SHA-256 of the canonical request whose approval was taken back, else null. */
  request_hash: string | null;
  /** Its place in the agent's record. */
  record: RecordPlace;
}

/** `salt`: base64 of 16 random bytes, which the organization keeps with its reason. */
export const reasonHash = (salt: string, reason: string): string => canonicalHash([salt, reason]);

const agentDigest = (agentId: string) => hexEncode(sha256(utf8Encode(agentId)));

export function buildChangeStatement({ request_hash, ...predicate }: AgentChange): Uint8Array {
  return request_hash === null
    ? buildStatement(AGENT_CHANGE_PREDICATE, "agent", agentDigest(predicate.record.agent_id), predicate)
    : buildStatement(AGENT_CHANGE_PREDICATE, "authorization-request", request_hash, predicate);
}

const isHash = (value: unknown) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** Null for bytes that are not the statement of a change, as {@link buildChangeStatement} writes it. */
export function parseChangeStatement(bytes: Uint8Array): AgentChange | null {
  const statement = parseCanonical(bytes);
  const predicate = statement?.["predicateType"] === AGENT_CHANGE_PREDICATE ? statement["predicate"] : null;
  const subject = Array.isArray(statement?.["subject"]) ? statement["subject"][0] : null;
  const digest = isJsonObject(subject) ? subject["digest"] : null;
  if (!isJsonObject(predicate) || !isJsonObject(digest)) return null;
  const { change, changed_at, key_id, reason_hash, record } = predicate;
  if (!agentChanges.some((one) => one === change) || !isRecordPlace(record)) return null;
  if (typeof changed_at !== "string" || typeof key_id !== "string") return null;
  if (reason_hash !== null && !isHash(reason_hash)) return null;
  const request_hash = change === "authorization_revoked" ? digest["sha256"] : null;
  if (request_hash !== null && !isHash(request_hash)) return null;
  const read = { change, changed_at, key_id, reason_hash, request_hash, record } as AgentChange;
  return bytesEqual(buildChangeStatement(read), bytes) ? read : null;
}
