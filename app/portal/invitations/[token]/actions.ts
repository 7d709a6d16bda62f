"use server";
/** Accepting an invitation, after signing in with the invited address. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { acceptInvitationForm } from "#lib/api/schemas/portal";
import { chooseOrganization, runUserAction } from "#lib/server/pages/portal-request";
import { runSignInRequest, runSignOut } from "#lib/server/pages/shared-actions";
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
  return runSignOut();
}
