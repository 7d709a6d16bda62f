/** Runs the operations of lib/api/operations/presentations.ts. */

import type { Handlers } from "#lib/api/http/call";
import type { presentationsOperations as specs } from "#lib/api/operations/presentations";
import type { Context } from "#lib/services/approvals/context";
import { createPresentation } from "./presentations";

export const presentationsHandlers: Handlers<typeof specs, Context> = {
  createPresentation: async (call) => ({
    status: 201,
    body: await createPresentation(call.context, call.principal, call.params["id"] ?? "", call.body),
  }),
};
