/**
 * What the log says of a decision: hashes only, so that it gives nothing away, and for an approval all of it follows
 * from the `human_authorization`, so that whoever holds the object can make the logged statement again.
 */
import { buildStatement, DECISION_PREDICATE } from "./statement";

export interface Decision {
  decision: "approved" | "denied" | "cancelled";
  /** Hex SHA-256 of the canonical request. */
  request_hash: string;
  decided_at: string;
  /** The service's key that signs the statement. */
  key_id: string;
  /** Hex SHA-256 of the canonical signed object without `log`; null where nothing was approved. */
  authorization_hash: string | null;
}

export function buildDecisionStatement(decision: Decision): Uint8Array {
  const { request_hash, ...predicate } = decision;
  return buildStatement(DECISION_PREDICATE, "authorization-request", request_hash, predicate);
}
