/** Runs the operations of lib/contract/operations-agents.ts. */
import type { agentsOperations as specs } from "#lib/contract/operations-agents";
import { readAgentFeed } from "#lib/services/agent-feed";
import { listAgentKeys } from "#lib/services/agent-keys";
import { putTools, readIdentity, registerIdentity, updateIdentity } from "#lib/services/identities";
import { writeJsonFeed } from "./agent-syndication";
import { actorOf, type Call, type Params, type Runs, requireCaller } from "./route";

const registrant = (call: Pick<Call<unknown, unknown>, "caller" | "ip">) => ({
  organizationId: requireCaller(call).organizationId,
  actor: actorOf(call),
});
/** Asked for by Accept, the same attestations come as a JSON Feed. */
const feedMediaType = "application/feed+json";
const slugOf = (params: Params) => params["slug"] ?? "";

export const agentsRuns: Runs<typeof specs> = {
  agentFeed: async ({ context, params, query, request }) => {
    const feed = await readAgentFeed(context, slugOf(params), query);
    if (!request.headers.get("accept")?.includes(feedMediaType))
      return { body: feed, headers: { vary: "Accept" } };
    return new Response(writeJsonFeed(context.settings.baseUrl, feed), {
      headers: { "content-type": feedMediaType, "cache-control": "no-store", vary: "Accept" },
    });
  },
  registerIdentity: async (call) => {
    const { isNew, identity } = await registerIdentity(call.context, registrant(call), call.body);
    return { status: isNew ? 201 : 200, body: identity };
  },
  readIdentity: async ({ context, params }) => ({
    body: await readIdentity(context.database.db, slugOf(params)),
  }),
  listAgentKeys: async ({ context, params, query }) => ({
    body: await listAgentKeys(context.database.db, slugOf(params), query),
  }),
  updateIdentity: async (call) => ({
    body: await updateIdentity(call.context, registrant(call), slugOf(call.params), call.body),
  }),
  putTools: async (call) => ({
    body: await putTools(call.context, registrant(call), slugOf(call.params), call.body),
  }),
};
