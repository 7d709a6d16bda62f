"use server";
/** Changing, testing, rotating and deleting a webhook endpoint, and sending messages again. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { editWebhookForm, enableWebhookForm, replayForm, webhookForm } from "#lib/api/schemas/portal";
import { portalActions, runAction } from "#lib/server/pages/portal-request";
import { runRotateWebhook } from "#lib/server/pages/shared-actions";
import {
  deleteOwnWebhook,
  replayOwnDelivery,
  testOwnWebhook,
  updateOwnWebhook,
} from "#lib/services/webhooks/deliveries";

type SecretState = FormState<{ secret: string }>;
type PlainState = FormState<null>;

const path = "/portal/webhooks";
const refreshing = portalActions(path, "layout");

export const editWebhook = refreshing("operate", editWebhookForm, async ({ context, person }, input) => {
  const { webhook_id, url, events, shows_facts } = input;
  await updateOwnWebhook(context, person, webhook_id, { url, events, shows_facts: shows_facts === "on" });
  return { message: "Saved.", result: null };
});

export const enableWebhook = refreshing("operate", enableWebhookForm, async ({ context, person }, input) => {
  const enabled = input.enabled === "true";
  await updateOwnWebhook(context, person, input.webhook_id, { enabled });
  return { message: enabled ? "Endpoint enabled." : "Endpoint disabled.", result: null };
});

export async function rotateWebhook(_state: SecretState, form: FormData): Promise<SecretState> {
  return runRotateWebhook(form);
}

export async function deleteWebhook(_state: PlainState, form: FormData): Promise<PlainState> {
  const state = await runAction("operate", webhookForm, form, async ({ context, person }, input) => {
    await deleteOwnWebhook(context, person, input.webhook_id);
    return { message: "", result: null };
  });
  if (state.status === "done") redirect(path);
  return state;
}

export const testWebhook = refreshing("operate", webhookForm, async ({ context, person }, input) => {
  await testOwnWebhook(context, person, input.webhook_id);
  return { message: "Test message on its way. The result appears in the list.", result: null };
});

export const replayDelivery = refreshing("operate", replayForm, async ({ context, person }, input) => {
  await replayOwnDelivery(context, person, input.webhook_id, input.message_id);
  return { message: "On its way again.", result: null };
});
