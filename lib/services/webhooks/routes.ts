/** /v1/webhooks, bound to the services. */

import type { Handlers, Params } from "#lib/api/http/pipeline";
import type { webhooksOperations as specs } from "#lib/api/operations/webhooks";
import type { Context } from "#lib/services/approvals/context";
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

const readId = (params: Params) => params["webhook_id"] ?? "";

export const webhooksHandlers: Handlers<typeof specs, Context> = {
  createWebhook: async (call) => ({
    status: 201,
    body: await createEndpoint(call.context, call.principal, call.body),
  }),
  listWebhooks: async (call) => ({
    body: { webhooks: await listEndpoints(call.context, call.principal) },
  }),
  readCallbackWebhook: async (call) => ({
    body: describeEndpoint(call.context, await readCallbacks(call.context, call.principal)),
  }),
  readWebhook: async (call) => ({
    body: describeEndpoint(
      call.context,
      await readEndpoint(call.context, call.principal, readId(call.params)),
    ),
  }),
  updateWebhook: async (call) => ({
    body: await updateEndpoint(call.context, call.principal, readId(call.params), call.body),
  }),
  deleteWebhook: async (call) => {
    const id = readId(call.params);
    await deleteEndpoint(call.context, call.principal, id);
    return { body: { id, message: "The webhook endpoint is deleted. Nothing more is sent to it." } };
  },
  rotateWebhook: async (call) => ({
    body: await rotateEndpoint(call.context, call.principal, readId(call.params), call.body.overlap_hours),
  }),
  testWebhook: async (call) => ({
    status: 202,
    body: await sendTest(call.context, call.principal, readId(call.params)),
  }),
  listWebhookDeliveries: async (call) => ({
    body: await listDeliveries(call.context, call.principal, readId(call.params), call.query),
  }),
  replayWebhookDelivery: async (call) => ({
    status: 202,
    body: await replayDelivery(
      call.context,
      call.principal,
      readId(call.params),
      call.params["message_id"] ?? "",
    ),
  }),
};
