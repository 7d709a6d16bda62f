"use server";
/** Signing out, and choosing among several organizations. */
import { redirect } from "next/navigation";
import { type FormState, switchOrganizationForm } from "#lib/contract/portal";
import { chooseOrganization, requireOwnPage, runVisitorAction } from "#lib/http/portal-request";
import { endSession } from "#lib/http/session";
import { requireRole } from "#lib/services/members";

export async function signOut(): Promise<void> {
  await requireOwnPage();
  await endSession();
  redirect("/portal/sign-in");
}

export async function switchOrganization(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  const state = await runVisitorAction(switchOrganizationForm, form, async ({ context }, visitor, input) => {
    const person = { ...visitor, organizationId: input.organization_id };
    await requireRole(context.database.db, person, "member");
    await chooseOrganization(person.organizationId);
    return { message: "", result: null };
  });
  if (state.status === "done") redirect("/portal");
  return state;
}
