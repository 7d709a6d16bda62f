"use server";
/** Cancelling a request, and taking an approval back. */
import type { FormState } from "#lib/contract/form-state";
import { runCancelAuthorization, runTakeBack } from "#lib/pages/stop-authorization-actions";

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runTakeBack(form);
}
