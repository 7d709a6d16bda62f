"use server";
/** Cancelling a request, taking an approval back, and answering a question. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runAnswer, runCancelAuthorization, runTakeBack } from "#lib/server/pages/shared-actions";

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runTakeBack(form);
}

export async function answer(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAnswer(form);
}
