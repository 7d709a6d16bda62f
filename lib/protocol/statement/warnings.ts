/**
 * Bad news in authentic records. Authenticity means that the service recorded exactly this; warnings name what the
 * reader must not overlook in it. They follow only from what has been verified, the same in the service, the visitor's
 * browser and the command line. An absence (no signature, no approval) is no warning.
 */
import { type ApprovalStop, approvalStops } from "#lib/protocol/approval/approval-end";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { isBacked } from "./human-approval";
import { listUnregisteredTools } from "./identity-checks";
import type { UnplacedPredicate } from "./statement";

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
  agent_frozen_at?: JsonValue | undefined;
  /** Reason why what backs it could no longer have been claimed. */
  approval_stopped?: ApprovalStop["reason"] | undefined;
  human_approval_method?: JsonValue;
  human_approval_environment?: JsonValue;
  isReportedByTrace?: boolean;
  unregisteredTools?: readonly string[];
  isSigningKeyRevoked?: boolean;
  isZkKeyRevoked?: boolean;
  isErased?: boolean;
}

/** In the order in which they are listed. */
const rules = {
  agent_signature_invalid: (facts) => facts.agent_authenticated === false,
  code_hash_mismatch: (facts) => facts.code_hash_verified === false,
  tools_not_registered: (facts) => facts.tools_authorized === false,
  client_gap: (facts) => facts.client_gap === true,
  agent_frozen: (facts) => typeof facts.agent_frozen_at === "string",
  approval_stopped: (facts) => facts.approval_stopped !== undefined,
  approval_asserted_only: (facts) => facts.human_approval_method === "hash",
  approval_test: ({ human_approval_environment: environment }) =>
    typeof environment === "string" && environment !== "production",
  reported_by_trace: (facts) => facts.isReportedByTrace,
  signing_key_revoked: (facts) => facts.isSigningKeyRevoked,
  zk_key_revoked: (facts) => facts.isZkKeyRevoked,
  content_erased: (facts) => facts.isErased,
} satisfies Record<string, (facts: WarningFacts) => boolean | undefined>;

export type WarningCode = keyof typeof rules;
export const warningCodes = Object.keys(rules) as WarningCode[];

/** Finds warnings, in a fixed order. */
export function findWarnings(facts: WarningFacts): WarningCode[] {
  return warningCodes.filter((code) => rules[code](facts));
}

const messages: Record<WarningCode, string> = {
  agent_signature_invalid: "The agent's signature was not made with its registered key.",
  code_hash_mismatch: "The reported code hash is not the registered one.",
  tools_not_registered: "A tool was used that is not in the registered manifest.",
  client_gap: "The agent's own number does not follow its last one: an earlier attestation may be missing.",
  agent_frozen: "The agent's organization had frozen it when this was recorded.",
  approval_stopped: "The approval was stopped after a run had claimed it, and before this was recorded.",
  approval_asserted_only: "The human approval is asserted by the caller, not proven.",
  approval_test: "The approval is a TEST: no real person is proven to have given it.",
  reported_by_trace:
    "A trace reported this, not the agent itself: whoever can write to the trace can make it up, and the times are its exporter's.",
  signing_key_revoked:
    "The key that signed this record was revoked later. Its place in the log is before that, so the signature counts.",
  zk_key_revoked: "The key of the zero-knowledge proof was revoked later.",
  content_erased: "The owner erased the content: what the record said can no longer be checked.",
};

/** Adds the constant text, which gives nothing of the content away. */
export function describeWarning(code: WarningCode): Warning {
  return { code, message: messages[code] };
}

/** A test warning that speaks of no person where nobody was asked. */
const unaskedTest = "It was decided on a TEST instance. Nobody was asked.";

export function drawWarnings(facts: WarningFacts): Warning[] {
  const { unregisteredTools: tools = [], approval_stopped: stop, human_approval_method: method } = facts;
  return findWarnings(facts).map((code) => {
    if (code === "tools_not_registered" && tools.length > 0)
      return {
        code,
        message: `Tools were used that are not in the registered manifest: ${tools.join(", ")}.`,
      };
    if (code === "approval_test" && (method === "rule" || method === "standing_approval"))
      return { code, message: unaskedTest };
    return code === "approval_stopped" && stop !== undefined
      ? {
          code,
          message: `After a run had claimed the approval, and before this was recorded, ${approvalStops[stop]}.`,
        }
      : describeWarning(code);
  });
}

export function factsOfStatement(
  {
    verdicts,
    human_approval: approval,
    registered,
    request,
    agent_frozen_at,
    approval_stopped,
    trace,
  }: UnplacedPredicate,
  manifest: Uint8Array | null,
): WarningFacts {
  const { agent_authenticated, code_hash_verified, tools_authorized, client_gap } = verdicts;
  return {
    agent_authenticated,
    code_hash_verified,
    tools_authorized,
    client_gap,
    agent_frozen_at,
    approval_stopped: approval_stopped?.reason,
    human_approval_method: approval.method,
    human_approval_environment: isBacked(approval) ? approval.environment : null,
    isReportedByTrace: trace !== undefined,
    unregisteredTools: listUnregisteredTools(request, registered.tool_manifest_hash, manifest),
  };
}
