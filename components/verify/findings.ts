/**
 * Findings about a record's agent, time and approval beside its authenticity, each with a state (unknown is one) and
 * with who vouches for it. Pure: the server and the visitor's browser both derive them, and are compared.
 */
import type { Tone } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { describeTest, gradeMarks, isUnasked } from "#lib/protocol/approval/approval-words";
import { describeDecided } from "#lib/protocol/approval/decided-words";
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type ApprovalMethod, type BackedMethod, isBacked } from "#lib/protocol/statement/human-approval";
import { toFacts, type Verification } from "./facts";

export interface Finding {
  readonly id: "agent" | "approval";
  readonly tone: Tone;
  readonly text: string;
  /** Full text, if `text` is only its grade. */
  readonly detail?: string;
  /** Source of the claim. */
  readonly by: string;
}

export const byAgent = "Said by the agent";
export const byTrace = "Reported by a trace, not by the agent itself";
export const isTraced = ({ warnings }: Pick<VerifyResponse, "warnings">) =>
  warnings.some(({ code }) => code === "reported_by_trace");
export const byService = "Checked by Countersign";
const byWorldId = "Proven by World ID";

/** Read from the signed bytes; null if the payload is hidden or unreadable. */
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

/** The organization says who the enrolled people are, so it is named beside the device. */
const byPasskey = "Proven by passkey; who they are is the organization's word";

/** People in full; otherwise the grade, with what decided below it. */
function findBacked(method: BackedMethod, decided: string): Omit<Finding, "id"> {
  const grade = privateFindings[method];
  return isUnasked(method) ? { ...grade, detail: decided } : { ...grade, text: decided };
}

/** Omits the number of people, which only the payload has. */
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
    text: gradeMarks.standing_approval,
    by: "People approved its limits before",
  },
  rule: { tone: "neutral", text: gradeMarks.rule, by: "The organization wrote the rule" },
};

const asserted = { tone: "warn", text: gradeMarks.hash, by: byAgent } as const;

function findPrivateApproval({ answer, approvalMethod }: Verification): Finding {
  const id = "approval";
  if (answer.human_approved === null)
    return { id, tone: "unknown", text: "Erased with the content", by: "If one was recorded" };
  if (approvalMethod === "hash") return { id, ...asserted };
  if (approvalMethod !== null && approvalMethod !== "none") return { id, ...privateFindings[approvalMethod] };
  return answer.human_approved
    ? { id, tone: "private", text: "Recorded. How it is proven is private", by: byService }
    : noApproval;
}

const noApproval: Finding = {
  id: "approval",
  tone: "neutral",
  text: gradeMarks.none,
  by: "Nobody claims that a human was asked",
};

/** TEST approvals without a wallet have other sources. */
const testSources: Partial<Record<ApprovalMethod, string>> = {
  proof_of_personhood: "Made with a test wallet",
  enrolled_proof_of_personhood: "Made with a test wallet",
  standing_approval: "People approved its limits before, on a test instance",
  rule: "The organization wrote the rule, on a test instance",
};

function findTest(method: ApprovalMethod, decided: string | null): Omit<Finding, "id"> {
  const text = describeTest(method);
  const by = testSources[method] ?? "Made on a test instance";
  return { tone: "test", text, by, ...(decided !== null && { detail: decided }) };
}

function findApproval(verification: Verification): Finding {
  const { answer, isTest, approvalMethod } = verification;
  const { human_approval: approval, human_approved: isApproved, valid } = answer;
  const id = "approval";
  const isShown = valid === true && approval !== null && isBacked(approval);
  const decided = isShown ? describeDecided(toFacts(answer).decided) : null;
  if (isTest) return { id, ...findTest(approval?.method ?? approvalMethod ?? "none", decided) };
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
  if (isBacked(approval)) return { id, ...findBacked(approval.method, decided ?? "") };
  return approval.method === "none" ? noApproval : { id, ...asserted };
}

export function buildFindings(verification: Verification): Record<Finding["id"], Finding> {
  return { agent: findAgent(verification.answer), approval: findApproval(verification) };
}
