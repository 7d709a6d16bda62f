/** The audit log's filter. */
import { z } from "zod";

export const actorKinds = ["user", "key", "human", "system"] as const;
export type ActorKind = (typeof actorKinds)[number];

export const auditFilters = z.object({ kind: z.enum(actorKinds).optional().catch(undefined) });
export type AuditFilters = z.output<typeof auditFilters>;
