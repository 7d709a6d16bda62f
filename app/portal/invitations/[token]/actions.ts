"use server";
/** Accepting an invitation, after signing in with the invited address. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { acceptInvitationForm } from "#lib/api/schemas/portal";
import { chooseOrganization, requireOwnPage, runUserAction } from "#lib/server/pages/portal-request";
import { endSession } from "#lib/server/pages/session";
import { runSignInRequest } from "#lib/server/pages/shared-actions";
import { acceptInvitation } from "#lib/services/accounts/invitations";

type State = FormState<null>;

export async function requestLink(_state: State, form: FormData): Promise<State> {
  return runSignInRequest(form);
}

export async function accept(_state: State, form: FormData): Promise<State> {
  const state = await runUserAction(acceptInvitationForm, form, async ({ context }, user, input) => {
    await chooseOrganization(await acceptInvitation(context, user, input.token));
    return { message: "", result: null };
  });
  if (state.status === "done") redirect("/portal");
  return state;
}

export async function signOut(): Promise<never> {
  await requireOwnPage();
  await endSession();
  redirect("/portal/sign-in");
}
