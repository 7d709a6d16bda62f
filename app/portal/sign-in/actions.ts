"use server";
/** Asking for a sign-in link, and leaving where the person belongs to no organization. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runSignInRequest, runSignOut } from "#lib/server/pages/shared-actions";

export async function signOut(): Promise<never> {
  return runSignOut();
}

export async function requestLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runSignInRequest(form);
}
