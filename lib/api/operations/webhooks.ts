/** Webhooks: messages about what has happened in an organization. */

import {
  createWebhookBody,
  listDeliveriesQuery,
  rotateWebhookBody,
  updateWebhookBody,
  webhook,
  webhookDeleted,
  webhookDelivery,
  webhookDeliveryList,
  webhookList,
  webhookWithSecret,
} from "#lib/api/schemas/webhooks";
import { type OperationSpec, withKey } from "./operation";

const reading = { tag: "Webhooks", auth: withKey("read"), limit: "keyed" } as const;
const changing = { tag: "Webhooks", auth: withKey("identity"), limit: "keyed" } as const;

export const webhooksOperations = {
  createWebhook: {
    method: "POST",
    path: "/v1/webhooks",
    summary: "Create a webhook endpoint; its secret is shown only in this response",
    ...changing,
    body: createWebhookBody,
    responses: { 201: webhookWithSecret },
    errors: [401, 403, 409, 413, 422],
  },
  listWebhooks: {
    method: "GET",
    path: "/v1/webhooks",
    summary: "List your webhook endpoints, oldest first",
    ...reading,
    responses: { 200: webhookList },
    errors: [401, 403],
  },
  readCallbackWebhook: {
    method: "GET",
    path: "/v1/webhooks/callback",
    summary: "Read the endpoint that stands for every callback_url: rotate it to get its secret",
    ...reading,
    responses: { 200: webhook },
    errors: [401, 403],
  },
  readWebhook: {
    method: "GET",
    path: "/v1/webhooks/{webhook_id}",
    summary: "Read a webhook endpoint",
    ...reading,
    responses: { 200: webhook },
    errors: [401, 403, 404],
  },
  updateWebhook: {
    method: "PATCH",
    path: "/v1/webhooks/{webhook_id}",
    summary: "Change a webhook endpoint's URL or events, disable it, or enable it again",
    ...changing,
    body: updateWebhookBody,
    responses: { 200: webhook },
    errors: [401, 403, 404, 413, 422],
  },
  deleteWebhook: {
    method: "DELETE",
    path: "/v1/webhooks/{webhook_id}",
    summary: "Delete a webhook endpoint and its deliveries",
    ...changing,
    responses: { 200: webhookDeleted },
    errors: [401, 403, 404],
  },
  rotateWebhook: {
    method: "POST",
    path: "/v1/webhooks/{webhook_id}/rotate",
    summary: "Replace a webhook endpoint's keys; the old ones sign as well until the overlap ends",
    ...changing,
    body: rotateWebhookBody,
    responses: { 200: webhookWithSecret },
    errors: [401, 403, 404, 413, 422],
  },
  testWebhook: {
    method: "POST",
    path: "/v1/webhooks/{webhook_id}/test",
    summary: "Send a test event to a webhook endpoint",
    ...changing,
    responses: { 202: webhookDelivery },
    errors: [401, 403, 404, 409, 422],
  },
  listWebhookDeliveries: {
    method: "GET",
    path: "/v1/webhooks/{webhook_id}/deliveries",
    summary: "List a webhook endpoint's deliveries of the last 30 days, newest first",
    ...reading,
    query: listDeliveriesQuery,
    responses: { 200: webhookDeliveryList },
    errors: [401, 403, 404],
  },
  replayWebhookDelivery: {
    method: "POST",
    path: "/v1/webhooks/{webhook_id}/deliveries/{message_id}/replay",
    summary: "Send a message again, under the same webhook-id",
    ...changing,
    responses: { 202: webhookDelivery },
    errors: [401, 403, 404, 409],
  },
} as const satisfies Record<string, OperationSpec>;
