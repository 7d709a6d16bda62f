"use server";
/** Creating a webhook endpoint, and rotating the callbacks' secret. */
import type { FormState } from "#lib/api/schemas/form-state";
import { createWebhookForm } from "#lib/api/schemas/portal";
import { revalidate, runAction } from "#lib/server/pages/portal-request";
import { runRotateWebhook } from "#lib/server/pages/shared-actions";
import { createOwnWebhook } from "#lib/services/webhooks/deliveries";

type SecretState = FormState<{ secret: string }>;

export async function createWebhook(_state: SecretState, form: FormData): Promise<SecretState> {
  return runAction("operate", createWebhookForm, form, async ({ context, person }, input) => {
    const { shows_facts, ...wish } = input;
    const made = await createOwnWebhook(context, person, { ...wish, shows_facts: shows_facts === "on" });
    // A chat verifies nothing, so its endpoint's secret is of no use.
    return made.format === "standard"
      ? { message: "Endpoint created.", result: { secret: made.secret } }
      : { message: "Chat added. Send it a test message.", result: { secret: "" } };
  }).then(revalidate("/portal/webhooks"));
}

export async function rotateWebhook(_state: SecretState, form: FormData): Promise<SecretState> {
  return runRotateWebhook(form);
}
