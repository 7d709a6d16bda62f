/** Runs the operations of lib/contract/operations-presentations.ts. */
import type { Context } from "#lib/approvals/context";
import type { presentationsOperations as specs } from "#lib/contract/operations-presentations";
import type { Handlers } from "#lib/http/call";
import { createPresentation } from "./presentations";

export const presentationsHandlers: Handlers<typeof specs, Context> = {
  createPresentation: async (call) => ({
    status: 201,
    body: await createPresentation(call.context, call.principal, call.params["id"] ?? "", call.body),
  }),
};
