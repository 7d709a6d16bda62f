/**
 * Content of an approval (docs/wire.md), from the request to the inputs of a World ID proof, and the self-contained
 * signed object. request → request_hash → world_action and signal → public inputs, so that the proof covers exactly
 * what the human saw.
 */
import { hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { ListBranch } from "#lib/protocol/passkey/assertion";
import type { GroupOpening, RosterEntry, RosterHead } from "#lib/protocol/passkey/roster";
import { isLoopbackUrl } from "#lib/protocol/text/host";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import {
  hashToField,
  type RequiredLevel,
  type WorldProofV3,
  type WorldProofV4,
  wordHex,
} from "#lib/protocol/world-id/world-id-proof";
import type { Amount } from "./amount";
import { type DecidedBy, type GrantTerms, type RequiredApprovers, usableUntil } from "./decided-by";
import type { SignedDetails } from "./shown-content";

export type Amends = {
  /** Hash of the request that this one changes. */
  request_hash: string;
  /** `amount` or `context.NAME`, sorted. */
  fields: string[];
  /** Approver who changed it, exactly if the old request required groups. */
  by?: string;
};

export interface ApprovalRequest {
  request_id: string;
  origin: string;
  organization: string;
  agent_slug: string;
  /** base64 of the raw 32 bytes; null if the agent has registered no key. */
  agent_public_key: string | null;
  action: string;
  tool?: string;
  amount?: Amount;
  context_hash: string;
  inputs_hash?: string;
  /** Makes it version 2. */
  details?: SignedDetails;
  /** Like context_hash, by entries that can be shown one by one. Makes it version 2. */
  entries_hash?: string;
  /** Fields that an approver may change, sorted. Makes it version 2. */
  amendable?: string[];
  /** The request that this one changes. Makes it version 2. */
  amends?: Amends;
  /** World ID level; `none` only if enrolled approvers are required. */
  required_level: RequiredLevel | "none";
  /** Set with required approvers: their total. */
  approvals_required: number;
  required_approvers: RequiredApprovers[];
  requester_may_approve: boolean;
  /** Id of the requester, if one of the organization's approvers. */
  requester_id?: string;
  grant: GrantTerms | null;
  /** Seconds for which people's approval can be used; without it there is no end. */
  usable_for_seconds?: number;
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

export type WorldIdApproval = { type: "world_id" } & (WorldProofV3 | WorldProofV4) & ApprovalRecord;

/** An enrolled approver's: a passkey's signature over the request, and its place in the organization's roster. */
export interface PasskeyApproval {
  type: "passkey";
  /** A pseudonym: the person's id in the organization. */
  approver_id: string;
  /** base64url of the COSE key; base64url too are the next three. */
  credential_public_key: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
  verified_at: string;
  /** Nullifier of the World ID proof from the same visit, if the request asks for a level. */
  nullifier_hash?: string;
  /** `proof`: base64, from the entry's sibling upwards. */
  roster: { head: RosterHead; entry: RosterEntry; index: number; proof: string[] };
  /** Id of the approver for whom the person decided as a deputy. Makes it version 2. */
  deputy_for?: string;
  /** Place in the list that the passkey signed in one; absent if it signed this request alone. Makes it version 2. */
  list?: ListBranch;
  /** Open those of the entry's groups that the request requires. */
  groups: GroupOpening[];
}

export type Approval = WorldIdApproval | PasskeyApproval;

export const isWorldIdApproval = (approval: Approval): approval is WorldIdApproval =>
  approval.type === "world_id";
export const isPasskeyApproval = (approval: Approval): approval is PasskeyApproval =>
  approval.type === "passkey";

export const listPasskeyKeys = ({ approvals }: HumanAuthorization): string[] =>
  approvals.flatMap((one) => (one.type === "passkey" ? [one.credential_public_key] : []));

/** A deputy counts in the place of another: neither can count again. */
export const listPeople = ({ approver_id, deputy_for }: PasskeyApproval): string[] =>
  deputy_for === undefined ? [approver_id] : [approver_id, deputy_for];

export interface UnsignedAuthorization {
  type: "human_authorization";
  /** 2 exactly if the request or an approval has a field of version 2, or there were questions (docs/decisions/0048). */
  version: 1 | 2;
  request: ApprovalRequest;
  /** The request that `request` amends, as it was hashed. */
  original_request?: ApprovalRequest;
  /** Hash of the questions and answers (lib/protocol/approval/amendment.ts) as they were at the decision. */
  questions_hash?: string;
  binding: ApprovalBinding;
  decided_by: DecidedBy;
  /** None unless people decided. */
  approvals: Approval[];
  /** Environment of the approval; anything but production is a TEST. */
  environment: WorldEnvironment;
  approved_at: string;
  /** Null: no end. */
  usable_until: string | null;
  key_id: string;
}

export interface HumanAuthorization extends UnsignedAuthorization {
  /** base64 Ed25519 by the service over `authorizationSigningBytes`. */
  signature: string;
  /** The decision's entry in the log; outside the signature. */
  log?: JsonObject;
}

export function requestHash(request: ApprovalRequest): string {
  return hexEncode(sha256(canonicalBytes({ ...request })));
}

/** Derives everything that the page, the wallet and the proof name, from the hash alone. */
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

export type DecisionFacts = Pick<
  UnsignedAuthorization,
  | "decided_by"
  | "approvals"
  | "environment"
  | "approved_at"
  | "key_id"
  | "original_request"
  | "questions_hash"
>;

/** Lists approve what a passkey alone decides, once: nothing by World ID, no standing approval and no counter-offer. */
export const isListable = ({ required_level, grant, amends }: ApprovalRequest) =>
  required_level === "none" && grant === null && amends === undefined;

/** Equal for requests that one list may hold. */
export const listKind = (request: ApprovalRequest): string => {
  const { organization, agent_slug, agent_public_key, tool = null, origin } = request;
  const { required_approvers, requester_may_approve, usable_for_seconds = null } = request;
  const groups = required_approvers.map(({ group, count }) => [group, count]);
  const rules = [requester_may_approve, usable_for_seconds];
  return canonicalJson([organization, agent_slug, agent_public_key, tool, origin, groups, ...rules]);
};

type Versioned = Pick<UnsignedAuthorization, "request" | "approvals" | "questions_hash">;

const isVersion2 = ({ request, approvals, questions_hash }: Versioned) =>
  [
    ...[request.details, request.entries_hash, request.amendable, request.amends, questions_hash],
    request.grant?.derived,
    ...approvals.filter(isPasskeyApproval).flatMap(({ list, deputy_for }) => [list, deputy_for]),
  ].some((field) => field !== undefined);

export const chooseVersion = (decided: Versioned): 1 | 2 => (isVersion2(decided) ? 2 : 1);

export function buildAuthorization(request: ApprovalRequest, facts: DecisionFacts): UnsignedAuthorization {
  return {
    type: "human_authorization",
    version: chooseVersion({ request, ...facts }),
    request,
    binding: bindRequest(request),
    ...facts,
    usable_until: usableUntil({ request, ...facts }),
  };
}

/** Canonical bytes of the object without `signature` and `log`. */
export function authorizationSigningBytes(authorization: UnsignedAuthorization): Uint8Array {
  const { signature: _signature, log: _log, ...signed } = authorization as HumanAuthorization;
  return canonicalBytes(signed as unknown as JsonObject);
}

export const assembleAuthorization = (
  unsigned: UnsignedAuthorization,
  signature: string,
): HumanAuthorization => ({ ...unsigned, signature });

/** RFC 4648 section 6 without padding, in lower case: World's portal wants `[a-z0-9-]` in actions. */
function base32Lower(bytes: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => alphabet[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}

/* An approval is given to an agent under the key that the page showed, and backs only what is attested under that key. */

/** `asked`: `human_authorization.request`. `registeredKey`: base64; null if none is registered. */
export function isSameAgentKey(asked: JsonObject, registeredKey: string | null): boolean {
  return (asked["agent_public_key"] ?? null) === registeredKey;
}

/* Environment in which an authorization was given: anything but production is a TEST. */

/** A passkey, a rule or a standing approval proves the same on a loopback address, but counts as a TEST there. */
export function findEnvironment(origin: string, approvals: readonly Approval[]): WorldEnvironment {
  const proofs = approvals.filter(isWorldIdApproval);
  const [first] = proofs;
  if (first && (first.environment !== "production" || proofs.length === approvals.length))
    return first.environment;
  return !URL.canParse(origin) || isLoopbackUrl(origin) ? "local" : "production";
}
