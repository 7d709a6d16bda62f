/** Webhooks as the portal manages them: the API's own services, for members of the organization. */

import type { MemberPrincipal } from "#lib/api/http/context";
import type { CreateWebhookBody, UpdateWebhookBody } from "#lib/api/schemas/webhooks";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { type DeliveryQuery, listDeliveries, replayDelivery, sendTest } from "./deliveries";
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

const requireMember = ({ database }: Context, person: MemberPrincipal) =>
  requireRole(database.db, person, "member");

export async function listOwnWebhooks(context: Context, person: MemberPrincipal) {
  await requireMember(context, person);
  const callbacks = describeEndpoint(context, await readCallbacks(context, person));
  return { rows: await listEndpoints(context, person), callbacks };
}

export async function readOwnWebhook(
  context: Context,
  person: MemberPrincipal,
  id: string,
  query: DeliveryQuery,
) {
  await requireMember(context, person);
  const webhook = describeEndpoint(context, await readEndpoint(context, person, id));
  return { webhook, ...(await listDeliveries(context, person, id, query)) };
}

export async function createOwnWebhook(context: Context, person: MemberPrincipal, wish: CreateWebhookBody) {
  await requireMember(context, person);
  return createEndpoint(context, person, wish);
}

export async function updateOwnWebhook(
  context: Context,
  person: MemberPrincipal,
  id: string,
  wish: UpdateWebhookBody,
) {
  await requireMember(context, person);
  return updateEndpoint(context, person, id, wish);
}

export async function rotateOwnWebhook(
  context: Context,
  person: MemberPrincipal,
  id: string,
  overlapHours: number,
) {
  await requireMember(context, person);
  return rotateEndpoint(context, person, id, overlapHours);
}

export async function deleteOwnWebhook(context: Context, person: MemberPrincipal, id: string): Promise<void> {
  await requireMember(context, person);
  await deleteEndpoint(context, person, id);
}

export async function testOwnWebhook(context: Context, person: MemberPrincipal, id: string) {
  await requireMember(context, person);
  return sendTest(context, person, id);
}

export async function replayOwnDelivery(
  context: Context,
  person: MemberPrincipal,
  id: string,
  messageId: string,
) {
  await requireMember(context, person);
  return replayDelivery(context, person, id, messageId);
}
