"use server";
/** Signing out, and choosing among several organizations. */
import { redirect } from "next/navigation";
import { type FormState, switchOrganizationForm } from "#lib/contract/portal";
import { chooseOrganization, requireOwnPage, runAction } from "#lib/http/portal-request";
import { endSession } from "#lib/http/session";
import { personNotFound } from "#lib/services/members";

export async function signOut(): Promise<void> {
  await requireOwnPage();
  await endSession();
  redirect("/portal/sign-in");
}

export async function switchOrganization(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  const state = await runAction(switchOrganizationForm, form, async ({ memberships }, input) => {
    const chosen = memberships.find(({ organizationId }) => organizationId === input.organization_id);
    if (!chosen) throw personNotFound();
    await chooseOrganization(chosen.organizationId);
    return { message: "", result: null };
  });
  if (state.status === "done") redirect("/portal");
  return state;
}
