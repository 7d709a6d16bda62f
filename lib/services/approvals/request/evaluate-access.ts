/** POST /access/v1/evaluation: what would decide a request at this moment. Stores and counts nothing. */
import type { KeyPrincipal } from "#lib/api/http/context";
import type { EvaluationBody, EvaluationResponse } from "#lib/api/schemas/authorization-state";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import { findAgent, slugTaken } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { type Judged, readStanding } from "./evaluate-policy";
import { previewDecision } from "./request";

/** Path of the agent's slug in this body. */
const slugField = "subject.id";

/** Milliseconds for which a link for people stays as announced. */
const hintMs = 300_000;

function toRequest({ subject, action, resource, context }: EvaluationBody): AuthorizeBody {
  return {
    agent_slug: subject.id,
    action: action.name,
    tool: resource.id,
    ...(context?.amount && { amount: context.amount }),
    ...(context?.details && { context: context.details }),
    ...(context?.requester != null && { requester: context.requester }),
  };
}

function explainVerdict({ verdict, decidedBy }: Judged): EvaluationResponse["context"]["reason"] {
  if (verdict === "denied") return "denied";
  return decidedBy?.kind === "grant" ? "covered_by_standing_approval" : "allowed_by_rule";
}

export async function evaluateAccess(
  context: Context,
  { organizationId }: Pick<KeyPrincipal, "organizationId">,
  body: EvaluationBody,
): Promise<EvaluationResponse> {
  const { db } = context.database;
  const request = toRequest(body);
  const agent = await findAgent(db, request.agent_slug);
  if (agent !== null && agent.organization_id !== organizationId) throw slugTaken(slugField);
  const standing = await readStanding(db, organizationId, request);
  const judged = await previewDecision(context, organizationId, request, standing, slugField);
  const evaluated_at = standing.at.toISOString();
  if (judged.verdict !== "ask")
    return {
      decision: judged.verdict === "approved",
      context: {
        evaluated_at,
        reason: explainVerdict(judged),
        decided_by: judged.decidedBy,
        message: judged.denialReason,
      },
    };
  return {
    decision: false,
    context: {
      evaluated_at,
      reason: "approval_required",
      decided_by: null,
      message: null,
      access_request: {
        endpoint: `${context.settings.baseUrl}/v1/authorize`,
        expires_at: new Date(standing.at.getTime() + hintMs).toISOString(),
        display: {
          title: "People decide this",
          description:
            context.settings.worldId === "none"
              ? "Post the request to the endpoint, with the groups that decide in required_approvers, and show them the link of its answer."
              : "Post the request to the endpoint, and show the link of its answer to who should decide.",
        },
        request,
      },
    },
  };
}
