/** Runs the operations of lib/contract/operations-agents.ts. */
import type { AccountsContext } from "#lib/accounts/context";
import type { agentsOperations as specs } from "#lib/contract/operations-agents";
import { type Params, type Runs, requirePrincipal } from "#lib/http/route";
import { listAgentKeys } from "./agent-keys";
import { putTools, readIdentity, registerIdentity, updateIdentity } from "./identities";

const slugOf = (params: Params) => params["slug"] ?? "";

export const agentsRuns: Runs<Omit<typeof specs, "agentFeed" | "agentRecord">, AccountsContext> = {
  registerIdentity: async (call) => {
    const { isNew, identity } = await registerIdentity(call.context, requirePrincipal(call), call.body);
    return { status: isNew ? 201 : 200, body: identity };
  },
  readIdentity: async ({ context, params }) => ({
    body: await readIdentity(context.database.db, slugOf(params)),
  }),
  listAgentKeys: async ({ context, params, query }) => ({
    body: await listAgentKeys(context.database.db, slugOf(params), query),
  }),
  updateIdentity: async (call) => ({
    body: await updateIdentity(call.context, requirePrincipal(call), slugOf(call.params), call.body),
  }),
  putTools: async (call) => ({
    body: await putTools(call.context, requirePrincipal(call), slugOf(call.params), call.body),
  }),
};
