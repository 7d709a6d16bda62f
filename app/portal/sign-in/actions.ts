"use server";
/** Asking for a sign-in link. */
import type { FormState } from "#lib/contract/form-state";
import { runSignInRequest } from "#lib/pages/sign-in-action";

export async function requestLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runSignInRequest(form);
}
