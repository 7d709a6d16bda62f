"use server";
/** Asking for a sign-in link. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runSignInRequest } from "#lib/server/pages/sign-in-action";

export async function requestLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runSignInRequest(form);
}
