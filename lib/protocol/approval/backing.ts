/** Builds what an attestation records about the authorization that backs it, all of it derived from the object. */
import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import type { BackedApproval, BackedMethod } from "#lib/protocol/statement/statement";

const textOf = (value: JsonValue | undefined) => (typeof value === "string" ? value : "");

/** Never personhood for what no person was asked about. */
export function methodOf(
  kind: JsonValue | undefined,
  types: readonly (JsonValue | undefined)[],
): BackedMethod {
  if (kind === "grant") return "standing_approval";
  if (kind === "rule") return "rule";
  if (!types.includes("passkey")) return "proof_of_personhood";
  return types.includes("world_id") ? "enrolled_proof_of_personhood" : "enrolled_approver";
}

/** The level that all World ID proofs reach; `none` if there are none. */
export function weakestLevel(levels: readonly (JsonValue | undefined)[]): BackedApproval["level"] {
  if (levels.length === 0) return "none";
  return levels.every((level) => level === "orb" || level === "proof_of_human") ? "orb" : "device";
}

/** `object`: whole, with its log entry. Null for what is no authorization; its shape is checked elsewhere. */
export function describeBacking(object: JsonObject): BackedApproval | null {
  const { request, binding, decided_by, approvals, environment } = object;
  if (!isJsonObject(request) || !isJsonObject(binding) || !isJsonObject(decided_by)) return null;
  if (!Array.isArray(approvals)) return null;
  const given = approvals.filter(isJsonObject);
  const proofs = given.filter(({ type }) => type === "world_id");
  const passkeys = given.filter(({ type }) => type === "passkey");
  return {
    method: methodOf(
      decided_by["kind"],
      given.map(({ type }) => type),
    ),
    level: weakestLevel(proofs.map(({ level }) => level)),
    request_hash: textOf(binding["request_hash"]),
    authorization_hash: canonicalHash(object),
    nullifier_hashes: proofs.map((one) => textOf(one["nullifier_hash"])),
    approver_ids: passkeys.map((one) => textOf(one["approver_id"])),
    environment: textOf(environment),
    inputs_bound: request["inputs_hash"] !== undefined,
  };
}
