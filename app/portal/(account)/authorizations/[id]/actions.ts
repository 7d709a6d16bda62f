"use server";
/** Cancelling a request, and taking an approval back. */
import { revokeOwnAuthorization } from "#lib/approvals/portal-authorizations";
import type { FormState } from "#lib/contract/form-state";
import { revokeForm } from "#lib/contract/portal-authorizations";
import { runCancelAuthorization } from "#lib/pages/cancel-authorization-action";
import { runAction } from "#lib/pages/portal-request";

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction(revokeForm, form, async ({ context, person }, { request_id, reason }) => {
    await revokeOwnAuthorization(context, person, request_id, reason ?? null);
    return { message: "Taken back. Nothing can use this approval any more.", result: null };
  });
}
