/**
 * What an approval covers (docs/wire.md): from the request to the inputs of a World ID proof, and the self-contained
 * signed object. request → request_hash → world_action and signal → public inputs, so that the proof covers exactly
 * what the human saw.
 */
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/core/encoding/bytes";
import { canonicalBytes, type JsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";
import type { WorldEnvironment } from "#lib/core/world-id/world-id-keys";
import {
  hashToField,
  type RequiredLevel,
  type WorldProofV3,
  type WorldProofV4,
  wordHex,
} from "#lib/core/world-id/world-id-proof";
import type { RequestedBy } from "./requested-by";

export interface ApprovalRequest {
  request_id: string;
  /** The service's public address. */
  origin: string;
  organization: string;
  agent_slug: string;
  /** base64 of the raw 32 bytes; null if the agent has registered no key. */
  agent_public_key: string | null;
  action: string;
  context_hash: string;
  inputs_hash?: string;
  required_level: RequiredLevel;
  approvals_required: number;
  created_at: string;
  expires_at: string;
  /** base64 of 16 random bytes */
  salt: string;
}

export interface ApprovalBinding {
  /** Hex SHA-256 of the canonical request. */
  request_hash: string;
  world_action: string;
  signal: string;
  signal_hash: string;
}

/** The chain and block at which the root (and for v4 the keys) was known when the approval was accepted. */
export interface Anchor {
  chain_id: number;
  block_number: number;
  block_hash: string;
  /** Address of the contract that answered for the root. */
  registry: string;
  root: string;
  issuer_public_key?: [string, string];
  oprf_public_key?: [string, string];
}

export type ApprovalCheckName = "groth16-local" | "world-portal-v4" | "world-chain";

interface ApprovalRecord {
  environment: WorldEnvironment;
  verified_at: string;
  verified_by: ApprovalCheckName[];
  anchor?: Anchor;
}

export type Approval = (WorldProofV3 & ApprovalRecord) | (WorldProofV4 & ApprovalRecord);

/**
 * 3: the hash of the context covers who asks (lib/core/approval/requested-by.ts), and the names. 2: only the names. Both back
 * only an attestation under the agent key that they name. 1: neither. Objects of every version stay verifiable.
 */
export type AuthorizationVersion = 1 | 2 | 3;

export interface UnsignedAuthorization {
  type: "human_authorization";
  version: AuthorizationVersion;
  request: ApprovalRequest;
  binding: ApprovalBinding;
  approvals: Approval[];
  approved_at: string;
  key_id: string;
}

export interface HumanAuthorization extends UnsignedAuthorization {
  /** base64 Ed25519 by the service over `authorizationSigningBytes`. */
  signature: string;
  /** The decision's entry in the log; outside the signature. */
  log?: JsonObject;
}

/** The names that the page showed most prominently; null if there was none. */
export interface ShownNames {
  agent_name: string | null;
  organization_name: string | null;
}

/** What the page showed and the object hides; as read from a file, so of any type. */
export interface ShownContent {
  context: JsonValue;
  context_salt: JsonValue;
  agent_name: JsonValue;
  organization_name: JsonValue;
  /** Null before version 3. */
  requested_by: JsonValue;
}

/** Hides context, names and who asks from whoever does not hold the salt. Null for what a version does not cover. */
export function contextHash(
  contextSalt: string,
  context: Record<string, string>,
  names: ShownNames | null,
  requestedBy: RequestedBy | null,
): string {
  const { agent_name = null, organization_name = null } = names ?? {};
  const version = names === null ? 1 : requestedBy === null ? 2 : 3;
  const requested_by = requestedBy as JsonObject | null;
  return hashShown(version, {
    context,
    context_salt: contextSalt,
    agent_name,
    organization_name,
    requested_by,
  });
}

function hashShown(version: AuthorizationVersion, shown: ShownContent): string {
  const { context, context_salt, agent_name, organization_name, requested_by } = shown;
  const covered = [context_salt, context, { agent_name, organization_name }, requested_by];
  return hexEncode(sha256(canonicalBytes(covered.slice(0, version + 1))));
}

/** Whether this content, and no other, is what the approval covers. Content that its version does not cover is none of it. */
export function isShownContent(
  { version, request }: Pick<UnsignedAuthorization, "version" | "request">,
  shown: ShownContent,
): boolean {
  const coversAsker = version >= 3;
  return (shown.requested_by !== null) === coversAsker && hashShown(version, shown) === request.context_hash;
}

export function requestHash(request: ApprovalRequest): string {
  return hexEncode(sha256(canonicalBytes({ ...request })));
}

/** Everything that the page, the wallet and the proof name, from the hash alone. */
export function bindRequest(request: ApprovalRequest): ApprovalBinding {
  const hash = requestHash(request);
  return {
    request_hash: hash,
    world_action: `authz-${base32Lower(hexDecode(hash)).slice(0, 26)}`,
    signal: `0x${hash}`,
    signal_hash: wordHex(hashToField(hexDecode(hash))),
  };
}

/**
 * Six characters that the agent shows its operator and the page shows too, so that the human sees that this is the
 * request they expect. From the hash, so that the browser computes it from what it renders.
 */
export function confirmationCode(requestHash: string): string {
  return formatConfirmationCode(sha256(utf8Encode(`confirmation-code:${requestHash}`)));
}

/** The first 30 bits of a digest: `K7Q-F2M`. */
export function formatConfirmationCode(digest: Uint8Array): string {
  const code = base32Lower(digest).slice(0, 6).toUpperCase();
  return `${code.slice(0, 3)}-${code.slice(3)}`;
}

export function buildAuthorization(
  request: ApprovalRequest,
  approvals: Approval[],
  approvedAt: string,
  keyId: string,
  version: AuthorizationVersion,
): UnsignedAuthorization {
  return {
    type: "human_authorization",
    version,
    request,
    binding: bindRequest(request),
    approvals,
    approved_at: approvedAt,
    key_id: keyId,
  };
}

/** What the service signs: the canonical object without `signature` and `log`. */
export function authorizationSigningBytes(authorization: UnsignedAuthorization): Uint8Array {
  const { signature: _signature, log: _log, ...signed } = authorization as HumanAuthorization;
  return canonicalBytes(signed as unknown as JsonObject);
}

/** `signature`: base64. */
export function assembleAuthorization(
  unsigned: UnsignedAuthorization,
  signature: string,
  log?: JsonObject,
): HumanAuthorization {
  return { ...unsigned, signature, ...(log === undefined ? {} : { log }) };
}

/** RFC 4648 section 6 without padding, in lower case: World's portal wants `[a-z0-9-]` in actions. */
function base32Lower(bytes: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => alphabet[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}
