/** The portal's list of authorization requests. */
import { z } from "zod";
import { authorizationStatuses } from "./authorize";
import { cursorText } from "./portal-attestations";
import { agentSlug } from "./primitives";

export const authorizationFilters = z.object({
  status: z.enum(authorizationStatuses).optional().catch(undefined),
  agent_slug: agentSlug.optional().catch(undefined),
  cursor: cursorText,
});
