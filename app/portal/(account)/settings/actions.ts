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
import { limitMails, revalidate, runAction } from "#lib/server/pages/portal-request";
import { inviteMember, withdrawInvitation } from "#lib/services/accounts/invitations";
import * as providerGroups from "#lib/services/accounts/provider-groups";
import { sayRetention, setLegalHold, setRetention } from "#lib/services/attestations/erase";
import * as members from "#lib/services/portal/organization";
import { deleteOrganization, updateOrganization } from "#lib/services/portal/organization";

type State = FormState<null>;

const refresh = revalidate("/portal", "layout");

export async function saveOrganization(_state: State, form: FormData): Promise<State> {
  return runAction("settings", organizationForm, form, async ({ context, person }, input) => {
    const { name, default_public, mark_text: markText = null, mark_color: markColor = null } = input;
    const defaultPublic = default_public === "public";
    const pushShowsFacts = input.lock_screen === "facts";
    await updateOrganization(context, person, { name, defaultPublic, markText, markColor, pushShowsFacts });
    return { message: "Settings saved.", result: null };
  }).then(refresh);
}

export async function invite(_state: State, form: FormData): Promise<State> {
  return runAction("members", inviteForm, form, async ({ context, person }, input) => {
    await limitMails(input.email);
    await inviteMember(context, person, input);
    return { message: `Invitation sent to ${input.email}.`, result: null };
  }).then(refresh);
}

export async function withdraw(_state: State, form: FormData): Promise<State> {
  return runAction("members", invitationIdForm, form, async ({ context, person }, input) => {
    await withdrawInvitation(context, person, input.invitation_id);
    return { message: "Invitation withdrawn.", result: null };
  });
}

export async function changeRole(_state: State, form: FormData): Promise<State> {
  return runAction("members", memberRoleForm, form, async ({ context, person }, input) => {
    await members.changeRole(context, person, { userId: input.user_id, role: input.role });
    return { message: "Role changed.", result: null };
  });
}

export async function remove(_state: State, form: FormData): Promise<State> {
  return runAction("read", memberForm, form, async ({ context, person }, input) => {
    const leaving = { userId: input.user_id, revokeKeys: input.revoke_keys === "on" };
    await members.removeMember(context, person, leaving);
    return { message: "Done.", result: null };
  });
}

export async function saveRetention(_state: State, form: FormData): Promise<State> {
  return runAction("erase", retentionForm, form, async ({ context, person }, { days = null }) => {
    return { message: sayRetention(await setRetention(context, person, days)), result: null };
  }).then(refresh);
}

export async function beginHold(_state: State, form: FormData): Promise<State> {
  return runAction("erase", legalHoldForm, form, async ({ context, person }, { reason }) => {
    await setLegalHold(context, person, reason);
    return { message: "Legal hold is on. Nothing is erased until an owner ends it.", result: null };
  }).then(refresh);
}

export async function endHold(_state: State, form: FormData): Promise<State> {
  return runAction("erase", stepForm, form, async ({ context, person }) => {
    return { message: sayRetention(await setLegalHold(context, person, null)), result: null };
  }).then(refresh);
}

export async function mapGroup(_state: State, form: FormData): Promise<State> {
  return runAction("members", providerGroupForm, form, async ({ context, person }, input) => {
    const { name, role = null, group_id: groupId = null } = input;
    await providerGroups.saveProviderGroup(context, person, { name, role, groupId });
    return {
      message: "Saved. It applies to people of your directory at once, and to others when they next sign in.",
      result: null,
    };
  }).then(refresh);
}

export async function unmapGroup(_state: State, form: FormData): Promise<State> {
  return runAction("members", providerGroupNameForm, form, async ({ context, person }, { name }) => {
    await providerGroups.removeProviderGroup(context, person, name);
    return {
      message:
        "Removed. People of your directory lose what it gave at once, and others when they next sign in.",
      result: null,
    };
  });
}

export async function saveSecondFactor(_state: State, form: FormData): Promise<State> {
  return runAction("security", secondFactorForm, form, async ({ context, person }, { factors }) => {
    await members.setSecondFactor(context, person, factors);
    return { message: "Saved.", result: null };
  }).then(refresh);
}

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
