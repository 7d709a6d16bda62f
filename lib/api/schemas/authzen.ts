/**
 * POST /access/v1/evaluation, as the OpenID AuthZEN Authorization API 1.0 (final, 11 January 2026) has it, with the
 * requestable denial of its Access Request and Approval Profile (draft 1, June 2026). Experimental.
 */
import { z } from "zod";
import { decidedBy } from "./authorization-state";
import { amount, authorizeBody, tool } from "./authorize";
import { action, agentSlug, timestamp } from "./primitives";

export const evaluationBody = z
  .strictObject({
    subject: z.strictObject({
      type: z.literal("agent", "must be agent"),
      id: agentSlug.meta({ description: "the agent's slug" }),
    }),
    action: z.strictObject({ name: action.meta({ description: "what it wants to do, in words" }) }),
    resource: z.strictObject({
      type: z.literal("tool", "must be tool"),
      id: tool.meta({ description: "the tool that would run" }),
    }),
    context: z
      .strictObject({
        amount: amount.nullish(),
        details: authorizeBody.shape.context.meta({ description: "`context` of POST /v1/authorize" }),
        requester: authorizeBody.shape.requester,
      })
      .nullish(),
  })
  .meta({ id: "EvaluationRequest" });
export type EvaluationBody = z.infer<typeof evaluationBody>;

const evaluationReasons = [
  "covered_by_standing_approval",
  "allowed_by_rule",
  "denied",
  "approval_required",
] as const;

export const evaluationResponse = z.strictObject({
  decision: z.boolean().meta({ description: "false also where people would be asked" }),
  context: z.strictObject({
    evaluated_at: timestamp,
    reason: z.enum(evaluationReasons),
    decided_by: decidedBy.nullable().meta({
      description: "as POST /v1/authorize would decide at this moment; null if people are asked",
    }),
    message: z.string().nullable().meta({ description: "why it is denied" }),
    access_request: z
      .strictObject({
        endpoint: z.url().meta({ description: "POST /v1/authorize of this service" }),
        expires_at: timestamp.meta({ description: "evaluate again after it" }),
        display: z.strictObject({ title: z.string(), description: z.string() }),
        request: authorizeBody.meta({ description: "the body for the endpoint" }),
      })
      .optional()
      .meta({ description: "only if people would be asked" }),
  }),
});
export type EvaluationResponse = z.infer<typeof evaluationResponse>;
