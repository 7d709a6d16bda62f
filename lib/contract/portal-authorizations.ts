/** The portal's list of authorization requests. */
import { z } from "zod";
import { authorizationStatuses } from "./authorize";
import { agentSlug } from "./primitives";

export const authorizationFilters = z.object({
  status: z.enum(authorizationStatuses).optional().catch(undefined),
  agent_slug: agentSlug.optional().catch(undefined),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,200}$/)
    .optional()
    .catch(undefined),
});
