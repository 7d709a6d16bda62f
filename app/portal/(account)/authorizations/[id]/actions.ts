"use server";
/** Cancelling a request, and taking an approval back. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runCancelAuthorization, runTakeBack } from "#lib/server/pages/stop-authorization-actions";

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runTakeBack(form);
}
