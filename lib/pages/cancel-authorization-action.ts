/** The one action that the list of authorization requests and the page of one share. */

import { cancelOwnAuthorization } from "#lib/approvals/portal-authorizations";
import type { FormState } from "#lib/contract/form-state";
import { authorizationForm } from "#lib/contract/portal";
import { runAction } from "./portal-request";

export async function runCancelAuthorization(form: FormData): Promise<FormState<null>> {
  return runAction(authorizationForm, form, async ({ context, person }, input) => {
    await cancelOwnAuthorization(context, person, input.request_id);
    return { message: "Request cancelled.", result: null };
  });
}
