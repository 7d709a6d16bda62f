"use server";
/** Asking for a sign-in link, and leaving where the person belongs to no organization. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { requireOwnPage } from "#lib/server/pages/portal-request";
import { endSession } from "#lib/server/pages/session";
import { runSignInRequest } from "#lib/server/pages/shared-actions";

export async function signOut(): Promise<never> {
  await requireOwnPage();
  await endSession();
  redirect("/portal/sign-in");
}

export async function requestLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runSignInRequest(form);
}
