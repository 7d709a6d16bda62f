"use server";
/** Creating a webhook endpoint, and rotating the callbacks' secret. */
import type { FormState } from "#lib/api/schemas/form-state";
import { createWebhookForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { runRotateWebhook } from "#lib/server/pages/shared-actions";
import { createOwnWebhook } from "#lib/services/webhooks/deliveries";

const refreshing = portalActions("/portal/webhooks");

type SecretState = FormState<{ secret: string }>;

export const createWebhook = refreshing("operate", createWebhookForm, async ({ context, person }, input) => {
  const { shows_facts, ...wish } = input;
  const made = await createOwnWebhook(context, person, { ...wish, shows_facts: shows_facts === "on" });
  // A chat verifies nothing, so its endpoint's secret is of no use.
  return made.format === "standard"
    ? { message: "Endpoint created.", result: { secret: made.secret } }
    : { message: "Chat added. Send it a test message.", result: { secret: "" } };
});

export async function rotateWebhook(_state: SecretState, form: FormData): Promise<SecretState> {
  return runRotateWebhook(form);
}
