/** Runs the operations of lib/api/operations/agents.ts. */

import type { Handlers, Params } from "#lib/api/http/pipeline";
import type { agentsOperations as specs } from "#lib/api/operations/agents";
import { listAgentKeys } from "./agent-changes";
import { type FreezeContext, freezeAgent, unfreezeAgent } from "./freeze";
import { putTools, readIdentity, registerIdentity, updateIdentity } from "./identities";

const readSlug = (params: Params) => params["slug"] ?? "";

export const agentsHandlers: Handlers<Omit<typeof specs, "agentFeed" | "agentRecord">, FreezeContext> = {
  registerIdentity: async (call) => {
    const { isNew, identity } = await registerIdentity(call.context, call.principal, call.body);
    return { status: isNew ? 201 : 200, body: identity };
  },
  readIdentity: async ({ context, params }) => ({
    body: await readIdentity(context.database.db, readSlug(params)),
  }),
  listAgentKeys: async ({ context, params, query }) => ({
    body: await listAgentKeys(context.database.db, readSlug(params), query),
  }),
  updateIdentity: async (call) => ({
    body: await updateIdentity(call.context, call.principal, readSlug(call.params), call.body),
  }),
  putTools: async (call) => ({
    body: await putTools(call.context, call.principal, readSlug(call.params), call.body),
  }),
  freezeAgent: async (call) => ({
    body: await freezeAgent(call.context, call.principal, readSlug(call.params), call.body.reason),
  }),
  unfreezeAgent: async (call) => ({
    body: await unfreezeAgent(call.context, call.principal, readSlug(call.params), call.body.reason ?? null),
  }),
};
