/**
 * Findings about a record's agent, time and approval beside its authenticity, each with a state (unknown is one) and
 * with who vouches for it. Pure: the server and the visitor's browser both derive them, and are compared.
 */
import type { Tone } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/api/schemas/verify";
import { countApprovers } from "#lib/protocol/approval/approval-words";
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import {
  type ApprovalMethod,
  type BackedApproval,
  type BackedMethod,
  isBacked,
} from "#lib/protocol/statement/statement";
import type { Verification } from "./facts";

export interface Finding {
  readonly id: "agent" | "approval";
  readonly tone: Tone;
  readonly text: string;
  /** Who vouches for it. */
  readonly by: string;
}

export const byAgent = "Said by the agent";
export const byService = "Checked by Countersign";
const byWorldId = "Proven by World ID";

/** From the signed bytes; null if the payload is hidden or unreadable. */
function hasRegisteredKey(payload: string | null): boolean | null {
  if (payload === null) return null;
  try {
    const statement = JSON.parse(payload) as JsonValue;
    const predicate = isJsonObject(statement) ? statement["predicate"] : undefined;
    const registered = isJsonObject(predicate) ? predicate["registered"] : undefined;
    return isJsonObject(registered) ? registered["agent_public_key"] !== null : null;
  } catch {
    return null;
  }
}

const onlyApiKey = "Only the organization's API key backs this";

function findAgent({ valid, agent_authenticated, payload }: VerifyResponse): Finding {
  const id = "agent";
  if (valid === false)
    return { id, tone: "warn", text: "Claimed, not verified", by: "This record failed verification" };
  if (valid === null)
    return { id, tone: "unknown", text: "Erased with the content", by: "Whether the agent signed it" };
  if (agent_authenticated === true)
    return { id, tone: "proven", text: "Signed with the agent's own key", by: byService };
  if (agent_authenticated === false)
    return { id, tone: "warn", text: "Signed, but not with the agent's registered key", by: byService };
  return hasRegisteredKey(payload) === true
    ? { id, tone: "unknown", text: "This agent has a key but did not sign this report", by: onlyApiKey }
    : { id, tone: "unknown", text: "Agent not proven", by: onlyApiKey };
}

const levels: Record<string, string> = { orb: "verified with an Orb", device: "verified on a device" };

function describePeople(count: number, level: string): string {
  const how = levels[level] ?? `level ${level}`;
  return count === 1 ? `One person's World ID, ${how}` : `World IDs of ${count} different people, ${how}`;
}

/** Who the enrolled people are is the organization's word, so it is named beside the device's. */
const byPasskey = "Proven by passkey; who they are is the organization's word";

function findBacked({
  method,
  level,
  nullifier_hashes: humans,
  approver_ids: approvers,
}: BackedApproval): Omit<Finding, "id"> {
  switch (method) {
    case "proof_of_personhood":
      return { tone: "proven", text: describePeople(humans.length, level), by: byWorldId };
    case "enrolled_proof_of_personhood":
      return { tone: "proven", text: `${countApprovers(approvers)}, each with World ID`, by: byPasskey };
    case "enrolled_approver":
      return { tone: "proven", text: countApprovers(approvers), by: byPasskey };
    default:
      return privateFindings[method];
  }
}

/** Without the people's number, which only the payload has. */
const privateFindings: Record<BackedMethod, Omit<Finding, "id">> = {
  proof_of_personhood: { tone: "proven", text: "The World ID of at least one person", by: byWorldId },
  enrolled_proof_of_personhood: {
    tone: "proven",
    text: "Enrolled approvers, each with World ID",
    by: byPasskey,
  },
  enrolled_approver: { tone: "proven", text: "Enrolled approvers", by: byPasskey },
  standing_approval: {
    tone: "neutral",
    text: "Covered by a standing approval",
    by: "No human was asked about this one",
  },
  rule: { tone: "neutral", text: "Allowed by rule, no human asked", by: "A rule of the organization" },
};

function findPrivateApproval({ answer, approvalMethod }: Verification): Finding {
  const id = "approval";
  if (answer.human_approved === null)
    return { id, tone: "unknown", text: "Erased with the content", by: "If one was recorded" };
  if (approvalMethod === "hash")
    return { id, tone: "warn", text: "Asserted by the caller, not proven", by: byAgent };
  if (approvalMethod !== null && approvalMethod !== "none") return { id, ...privateFindings[approvalMethod] };
  return answer.human_approved
    ? { id, tone: "private", text: "Recorded. How it is proven is private", by: byService }
    : noApproval;
}

const noApproval: Finding = {
  id: "approval",
  tone: "neutral",
  text: "No human approval",
  by: "Nobody claims that a human was asked",
};

/** Not every TEST had a wallet. */
const testSources: Partial<Record<ApprovalMethod, string>> = {
  proof_of_personhood: "Made with a test wallet",
  enrolled_proof_of_personhood: "Made with a test wallet",
  enrolled_approver: "Made by passkey on a test instance",
  standing_approval: "Covered by a standing approval on a test instance",
  rule: "Allowed by rule on a test instance, no human asked",
};

function findApproval(verification: Verification): Finding {
  const { answer, isTest, approvalMethod } = verification;
  const { human_approval: approval, human_approved: isApproved, valid } = answer;
  const id = "approval";
  if (isTest)
    return {
      id,
      tone: "test",
      text: "TEST approval, not a real person",
      by: testSources[approval?.method ?? approvalMethod ?? "none"] ?? "Made on a test instance",
    };
  if (valid === false)
    return isApproved === false || approval?.method === "none"
      ? { id, tone: "unknown", text: "No human approval claimed", by: "This record failed verification" }
      : {
          id,
          tone: "warn",
          text: "Human approval claimed, not verified",
          by: "This record failed verification",
        };
  if (approval === null) return findPrivateApproval(verification);
  if (isBacked(approval)) return { id, ...findBacked(approval) };
  return approval.method === "none"
    ? noApproval
    : { id, tone: "warn", text: "Asserted by the caller, not proven", by: byAgent };
}

export function findingsOf(verification: Verification): Record<Finding["id"], Finding> {
  return { agent: findAgent(verification.answer), approval: findApproval(verification) };
}
