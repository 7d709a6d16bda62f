"use server";
/** The organization's settings, its members, and its end. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import {
  deleteOrganizationForm,
  invitationIdForm,
  inviteForm,
  legalHoldForm,
  memberForm,
  memberRoleForm,
  organizationForm,
  providerGroupForm,
  providerGroupNameForm,
  retentionForm,
  secondFactorForm,
  stepForm,
} from "#lib/api/schemas/portal";
import { limitMails, portalActions, runAction } from "#lib/server/pages/portal-request";
import { inviteMember, withdrawInvitation } from "#lib/services/accounts/invitations";
import * as providerGroups from "#lib/services/accounts/provider-groups";
import { sayRetention, setLegalHold, setRetention } from "#lib/services/attestations/erase";
import * as members from "#lib/services/portal/organization";
import { deleteOrganization, updateOrganization } from "#lib/services/portal/organization";

const action = portalActions();
const refreshing = portalActions("/portal", "layout");

type State = FormState<null>;

export const saveOrganization = refreshing(
  "settings",
  organizationForm,
  async ({ context, person }, input) => {
    const { name, default_public, mark_text: markText = null, mark_color: markColor = null } = input;
    const defaultPublic = default_public === "public";
    const pushShowsFacts = input.lock_screen === "facts";
    await updateOrganization(context, person, { name, defaultPublic, markText, markColor, pushShowsFacts });
    return { message: "Settings saved.", result: null };
  },
);

export const invite = refreshing("members", inviteForm, async ({ context, person }, input) => {
  await limitMails(input.email);
  await inviteMember(context, person, input);
  return { message: `Invitation sent to ${input.email}.`, result: null };
});

export const withdraw = action("members", invitationIdForm, async ({ context, person }, input) => {
  await withdrawInvitation(context, person, input.invitation_id);
  return { message: "Invitation withdrawn.", result: null };
});

export const changeRole = action("members", memberRoleForm, async ({ context, person }, input) => {
  await members.changeRole(context, person, { userId: input.user_id, role: input.role });
  return { message: "Role changed.", result: null };
});

export const remove = action("read", memberForm, async ({ context, person }, input) => {
  const leaving = { userId: input.user_id, revokeKeys: input.revoke_keys === "on" };
  await members.removeMember(context, person, leaving);
  return { message: "Done.", result: null };
});

export const saveRetention = refreshing(
  "erase",
  retentionForm,
  async ({ context, person }, { days = null }) => {
    return { message: sayRetention(await setRetention(context, person, days)), result: null };
  },
);

export const beginHold = refreshing("erase", legalHoldForm, async ({ context, person }, { reason }) => {
  await setLegalHold(context, person, reason);
  return { message: "Legal hold is on. Nothing is erased until an owner ends it.", result: null };
});

export const endHold = refreshing("erase", stepForm, async ({ context, person }) => {
  return { message: sayRetention(await setLegalHold(context, person, null)), result: null };
});

export const mapGroup = refreshing("members", providerGroupForm, async ({ context, person }, input) => {
  const { name, role = null, group_id: groupId = null } = input;
  await providerGroups.saveProviderGroup(context, person, { name, role, groupId });
  return {
    message: "Saved. It applies to people of your directory at once, and to others when they next sign in.",
    result: null,
  };
});

export const unmapGroup = action("members", providerGroupNameForm, async ({ context, person }, { name }) => {
  await providerGroups.removeProviderGroup(context, person, name);
  return {
    message:
      "Removed. People of your directory lose what it gave at once, and others when they next sign in.",
    result: null,
  };
});

export const saveSecondFactor = refreshing(
  "security",
  secondFactorForm,
  async ({ context, person }, { factors }) => {
    await members.setSecondFactor(context, person, factors);
    return { message: "Saved.", result: null };
  },
);

export async function endOrganization(_state: State, form: FormData): Promise<State> {
  const state = await runAction(
    "security",
    deleteOrganizationForm,
    form,
    async ({ context, person }, input) => {
      await deleteOrganization(context, person, input.confirmation);
      return { message: "", result: null };
    },
  );
  if (state.status === "done") redirect("/portal/sign-in?deleted=organization");
  return state;
}
