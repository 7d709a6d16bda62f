/**
 * What is authentic but bad news. A record's authenticity says that the service recorded exactly this; its warnings say
 * what the reader must not overlook in it. They follow only from what has been verified, the same in the service, the
 * visitor's browser and the command line. An absence (no signature, no approval) is no warning.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";
import { listUnregisteredTools } from "./identity-checks";
import type { UnplacedPredicate } from "./statement";

export const warningCodes = [
  "agent_signature_invalid",
  "code_hash_mismatch",
  "tools_not_registered",
  "client_gap",
  "approval_asserted_only",
  "approval_test",
  "approval_key_changed",
  "signing_key_revoked",
  "zk_key_revoked",
  "content_erased",
] as const;
export type WarningCode = (typeof warningCodes)[number];

export interface Warning {
  code: WarningCode;
  /** A sentence for people. It may hold names that an agent chose. */
  message: string;
}

/** The fields have the names that a zero-knowledge proof discloses; what is not known is absent. */
export interface WarningFacts {
  agent_authenticated?: JsonValue;
  code_hash_verified?: JsonValue;
  tools_authorized?: JsonValue;
  client_gap?: JsonValue | undefined;
  human_approval_method?: JsonValue;
  human_approval_environment?: JsonValue;
  unregisteredTools?: readonly string[];
  isApprovedForOtherKey?: boolean;
  isSigningKeyRevoked?: boolean;
  isZkKeyRevoked?: boolean;
  isErased?: boolean;
}

const rules: Record<WarningCode, (facts: WarningFacts) => boolean | undefined> = {
  agent_signature_invalid: (facts) => facts.agent_authenticated === false,
  code_hash_mismatch: (facts) => facts.code_hash_verified === false,
  tools_not_registered: (facts) => facts.tools_authorized === false,
  client_gap: (facts) => facts.client_gap === true,
  approval_asserted_only: (facts) => facts.human_approval_method === "hash",
  approval_test: ({ human_approval_environment: environment }) =>
    typeof environment === "string" && environment !== "production",
  approval_key_changed: (facts) => facts.isApprovedForOtherKey,
  signing_key_revoked: (facts) => facts.isSigningKeyRevoked,
  zk_key_revoked: (facts) => facts.isZkKeyRevoked,
  content_erased: (facts) => facts.isErased,
};

/** In one order. */
export function findWarnings(facts: WarningFacts): WarningCode[] {
  return warningCodes.filter((code) => rules[code](facts));
}

const messages: Record<WarningCode, string> = {
  agent_signature_invalid: "The agent's signature was not made with its registered key.",
  code_hash_mismatch: "The reported code hash is not the registered one.",
  tools_not_registered: "A tool was used that is not in the registered manifest.",
  client_gap: "The agent's own number does not follow its last one: an earlier attestation may be missing.",
  approval_asserted_only: "The human approval is asserted by the caller, not proven.",
  approval_test: "The approval is a TEST: no real person is proven to have given it.",
  approval_key_changed: "The approval was given while the agent had another key, or none.",
  signing_key_revoked:
    "The key that signed this record was revoked later. Its place in the log is before that, so the signature counts.",
  zk_key_revoked: "The key of the zero-knowledge proof was revoked later.",
  content_erased: "The owner erased the content: what the record said can no longer be checked.",
};

/** With its constant text, which gives nothing of the content away. */
export function warningOf(code: WarningCode): Warning {
  return { code, message: messages[code] };
}

export function drawWarnings(facts: WarningFacts): Warning[] {
  const { unregisteredTools: tools = [] } = facts;
  return findWarnings(facts).map((code) =>
    code === "tools_not_registered" && tools.length > 0
      ? { code, message: `Tools were used that are not in the registered manifest: ${tools.join(", ")}.` }
      : warningOf(code),
  );
}

/** What the signed statement alone shows, with the authorization and manifest if they are at hand. */
export function factsOfStatement(
  { verdicts, human_approval: approval, registered, request }: UnplacedPredicate,
  authorization: JsonObject | null,
  manifest: Uint8Array | null,
): WarningFacts {
  const { agent_authenticated, code_hash_verified, tools_authorized, client_gap } = verdicts;
  return {
    agent_authenticated,
    code_hash_verified,
    tools_authorized,
    client_gap,
    human_approval_method: approval.method,
    human_approval_environment: approval.method === "proof_of_personhood" ? approval.environment : null,
    unregisteredTools: listUnregisteredTools(request, registered.tool_manifest_hash, manifest),
    isApprovedForOtherKey: isApprovedForOtherKey(authorization, registered.agent_public_key),
  };
}

/**
 * Version 1 could be used after the agent's key had changed: someone who took over the account could register a key of
 * their own and use an approval that was given to another.
 */
function isApprovedForOtherKey(authorization: JsonObject | null, agentPublicKey: string | null): boolean {
  if (authorization === null || authorization["version"] !== 1) return false;
  const { request } = authorization;
  return isJsonObject(request) && (request["agent_public_key"] ?? null) !== agentPublicKey;
}
