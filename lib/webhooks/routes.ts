/** /v1/webhooks, bound to the services. */
import type { Context } from "#lib/approvals/context";
import type { webhooksOperations as specs } from "#lib/contract/operations-webhooks";
import { type Params, type Runs, requirePrincipal } from "#lib/http/route";
import { listDeliveries, replayDelivery, sendTest } from "./deliveries";
import {
  createEndpoint,
  deleteEndpoint,
  describeEndpoint,
  listEndpoints,
  readCallbacks,
  readEndpoint,
  rotateEndpoint,
  updateEndpoint,
} from "./endpoints";

const idOf = (params: Params) => params["webhook_id"] ?? "";

export const webhooksRuns: Runs<typeof specs, Context> = {
  createWebhook: async (call) => ({
    status: 201,
    body: await createEndpoint(call.context, requirePrincipal(call), call.body),
  }),
  listWebhooks: async (call) => ({
    body: { webhooks: await listEndpoints(call.context, requirePrincipal(call)) },
  }),
  readCallbackWebhook: async (call) => ({
    body: describeEndpoint(call.context, await readCallbacks(call.context, requirePrincipal(call))),
  }),
  readWebhook: async (call) => ({
    body: describeEndpoint(
      call.context,
      await readEndpoint(call.context, requirePrincipal(call), idOf(call.params)),
    ),
  }),
  updateWebhook: async (call) => ({
    body: await updateEndpoint(call.context, requirePrincipal(call), idOf(call.params), call.body),
  }),
  deleteWebhook: async (call) => {
    const id = idOf(call.params);
    await deleteEndpoint(call.context, requirePrincipal(call), id);
    return { body: { id, message: "The webhook endpoint is deleted. Nothing more is sent to it." } };
  },
  rotateWebhook: async (call) => ({
    body: await rotateEndpoint(
      call.context,
      requirePrincipal(call),
      idOf(call.params),
      call.body.overlap_hours,
    ),
  }),
  testWebhook: async (call) => ({
    status: 202,
    body: await sendTest(call.context, requirePrincipal(call), idOf(call.params)),
  }),
  listWebhookDeliveries: async (call) => ({
    body: await listDeliveries(call.context, requirePrincipal(call), idOf(call.params), call.query),
  }),
  replayWebhookDelivery: async (call) => ({
    status: 202,
    body: await replayDelivery(
      call.context,
      requirePrincipal(call),
      idOf(call.params),
      call.params["message_id"] ?? "",
    ),
  }),
};
