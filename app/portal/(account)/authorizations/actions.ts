"use server";
/** Cancelling a request. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runCancelAuthorization } from "#lib/server/pages/shared-actions";

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}
