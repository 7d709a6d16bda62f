/** The one action that the list of webhooks (for the callbacks) and the page of an endpoint share. */
import type { FormState } from "#lib/api/schemas/form-state";
import { rotateWebhookForm } from "#lib/api/schemas/portal";
import { rotateOwnWebhook } from "#lib/services/webhooks/deliveries";
import { runAction } from "./portal-request";

/** The page is not revalidated: the dialog shows the new secret until it is closed. */
export async function runRotateWebhook(form: FormData): Promise<FormState<{ secret: string }>> {
  return runAction("operate", rotateWebhookForm, form, async ({ context, person }, input) => {
    const hours = Number(input.overlap_hours);
    const { secret, old_keys_until } = await rotateOwnWebhook(context, person, input.webhook_id, hours);
    const message =
      old_keys_until === null
        ? "The old secret has expired."
        : `The old secret signs as well until ${old_keys_until.slice(0, 16).replace("T", " ")} UTC.`;
    return { message, result: { secret } };
  });
}
