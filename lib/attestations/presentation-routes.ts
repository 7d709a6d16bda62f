/** Runs the operations of lib/contract/operations-presentations.ts. */
import type { Context } from "#lib/approvals/context";
import type { presentationsOperations as specs } from "#lib/contract/operations-presentations";
import { type Runs, requirePrincipal } from "#lib/http/route";
import { createPresentation } from "./presentations";

export const presentationsRuns: Runs<typeof specs, Context> = {
  createPresentation: async (call) => ({
    status: 201,
    body: await createPresentation(call.context, requirePrincipal(call), call.params["id"] ?? "", call.body),
  }),
};
