"use server";
/** Signing out, and choosing among several organizations. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { switchOrganizationForm } from "#lib/api/schemas/portal";
import { chooseOrganization, runUserAction } from "#lib/server/pages/portal-request";
import { runSignOut } from "#lib/server/pages/shared-actions";
import { requireRole } from "#lib/services/accounts/members";

export async function signOut(): Promise<never> {
  return runSignOut();
}

export async function switchOrganization(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  const state = await runUserAction(switchOrganizationForm, form, async ({ context }, user, input) => {
    const person = { ...user, organizationId: input.organization_id };
    await requireRole(context.database.db, person, "read");
    await chooseOrganization(person.organizationId);
    return { message: "", result: null };
  });
  if (state.status === "done") redirect("/portal");
  return state;
}
