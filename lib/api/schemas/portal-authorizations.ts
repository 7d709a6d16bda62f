/** The portal's list of authorization requests. */
import { z } from "zod";
import { authorizationStatuses } from "./authorize";
import { authorizationForm } from "./portal";
import { cursorText } from "./portal-attestations";
import { agentSlug, textOf } from "./primitives";

export const revokeForm = authorizationForm.extend({
  reason: z.preprocess((value) => (value === "" ? undefined : value), textOf(1, 1000).optional()),
});

export const authorizationFilters = z.object({
  status: z.enum(authorizationStatuses).optional().catch(undefined),
  agent_slug: agentSlug.optional().catch(undefined),
  cursor: cursorText,
});

export interface PersonDecision {
  decision: "approved" | "denied";
  /** The approver's name in the organization; null if only World ID knows the person, or if they only had the link. */
  who: string | null;
  by: "passkey" | "World ID" | "World ID and passkey" | "the link";
  at: string;
}
