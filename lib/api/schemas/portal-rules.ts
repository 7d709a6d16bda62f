/** The portal's form of rules: compared with what happened, or saved. */
import { z } from "zod";
import type { Decider } from "#lib/protocol/approval/decided-by";
import type { RulesProblem } from "#lib/protocol/policy/parse-rules";
import { putRulesBody, type SimulateResponse } from "./rules";

const { text, mode } = putRulesBody.shape;

export const rulesForm = z.object({
  text: z.preprocess((value) => (typeof value === "string" ? value.replaceAll("\r\n", "\n") : value), text),
  mode,
  fallback: z.enum(["ask", "deny"], "must be one of the choices"),
  second_owner: z.literal("on").optional(),
  version: z.coerce.number().int().min(0),
  intent: z.enum(["compare", "save"]),
});

export const proposalForm = z.object({ proposal_id: z.uuid("must be an id") });

/** A request that saved rules can still stop. */
export interface UnfinishedRequest {
  request_id: string;
  created_at: string;
  agent_slug: string;
  action: string;
  tool: string | null;
  amount: { value: string; currency: string } | null;
  isPending: boolean;
  /** Null while nobody has decided. */
  approvedBy: "standing" | Decider["kind"] | null;
  isClaimed: boolean;
  /** Why the rules of now let nobody approve, claim or use it; null if they do. */
  stop: string | null;
}

export type RulesFormResult =
  | { kind: "problems"; problems: RulesProblem[] }
  | { kind: "compared"; simulation: SimulateResponse }
  | { kind: "saved"; counts: boolean };
