/** Runs the operations of lib/contract/operations-presentations.ts. */
import type { presentationsOperations as specs } from "#lib/contract/operations-presentations";
import { createPresentation } from "#lib/services/presentations";
import { actorOf, type Runs, requireCaller } from "./route";

export const presentationsRuns: Runs<typeof specs> = {
  createPresentation: async (call) => ({
    status: 201,
    body: await createPresentation(call.context, {
      id: call.params["id"] ?? "",
      organizationId: requireCaller(call).organizationId,
      actor: actorOf(call),
      wanted: call.body,
    }),
  }),
};
