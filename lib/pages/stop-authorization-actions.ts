/** Actions that several pages of authorization requests share. */

import { cancelOwnAuthorization, revokeOwnAuthorization } from "#lib/approvals/portal-authorizations";
import type { FormState } from "#lib/contract/form-state";
import { authorizationForm } from "#lib/contract/portal";
import { revokeForm } from "#lib/contract/portal-authorizations";
import { runAction } from "./portal-request";

export async function runCancelAuthorization(form: FormData): Promise<FormState<null>> {
  return runAction(authorizationForm, form, async ({ context, person }, input) => {
    await cancelOwnAuthorization(context, person, input.request_id);
    return { message: "Request cancelled.", result: null };
  });
}

export async function runTakeBack(form: FormData): Promise<FormState<null>> {
  return runAction(revokeForm, form, async ({ context, person }, { request_id, reason }) => {
    await revokeOwnAuthorization(context, person, request_id, reason ?? null);
    return { message: "Taken back. Nothing can use this approval any more.", result: null };
  });
}
