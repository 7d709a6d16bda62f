"use server";
/** Chooses who is notified of the organization's requests. */
import type { FormState } from "#lib/api/schemas/form-state";
import {
  approverForm,
  approverIdForm,
  defaultGroupForm,
  escalationForm,
  groupForm,
  groupIdForm,
  passkeyIdForm,
  requesterForm,
} from "#lib/api/schemas/portal";
import { limitMails, revalidate, runAction } from "#lib/server/pages/portal-request";
import {
  chooseDefaultGroup,
  removeGroup,
  saveEscalation,
  saveGroup,
} from "#lib/services/accounts/approver-groups";
import {
  addApprover,
  askApproverAgain,
  listApprovers,
  removeApprover,
} from "#lib/services/accounts/approvers";
import { setRequesterMayApprove } from "#lib/services/accounts/members";
import { removePasskey as removeTheirs, requireOwnerAbout } from "#lib/services/accounts/passkeys";

type State = FormState<null>;

const refresh = revalidate("/portal/approvers");

export async function add(_state: State, form: FormData): Promise<State> {
  return runAction("members", approverForm, form, async ({ context, person }, input) => {
    await limitMails(input.email);
    const isAsked = await addApprover(context, person, input);
    const message = isAsked
      ? `${input.name} added. They get requests once they accept, with the link that we sent to ${input.email}.`
      : `${input.name} added.`;
    return { message, result: null };
  }).then(refresh);
}

export async function askAgain(_state: State, form: FormData): Promise<State> {
  return runAction("members", approverIdForm, form, async ({ context, person }, { approver_id }) => {
    const { people } = await listApprovers(context, person);
    await limitMails(people.find(({ id }) => id === approver_id)?.email ?? "");
    const email = await askApproverAgain(context, person, approver_id);
    return { message: `We sent the email to ${email} again.`, result: null };
  });
}

export async function remove(_state: State, form: FormData): Promise<State> {
  return runAction("members", approverIdForm, form, async ({ context, person }, input) => {
    await removeApprover(context, person, input.approver_id);
    return { message: "Approver removed.", result: null };
  });
}

export async function save(_state: State, form: FormData): Promise<State> {
  return runAction("members", groupForm, form, async ({ context, person }, input) => {
    const id = input.group_id ?? null;
    await saveGroup(context, person, { id, name: input.name, memberIds: input.members });
    return { message: "Group saved.", result: null };
  }).then(refresh);
}

export async function saveTurns(_state: State, form: FormData): Promise<State> {
  return runAction("members", escalationForm, form, async ({ context, person }, input) => {
    await saveEscalation(context, person, {
      groupId: input.group_id,
      afterMinutes: input.after,
      steps: new Map(input.turns.map((turn) => [turn.slice(0, 36), Number(turn.slice(37))])),
      lastResort: input.last_resort,
    });
    return { message: "Order saved.", result: null };
  }).then(refresh);
}

export async function deleteGroup(_state: State, form: FormData): Promise<State> {
  return runAction("members", groupIdForm, form, async ({ context, person }, input) => {
    await removeGroup(context, person, input.group_id);
    return { message: "Group deleted.", result: null };
  });
}

export async function chooseDefault(_state: State, form: FormData): Promise<State> {
  return runAction("members", defaultGroupForm, form, async ({ context, person }, input) => {
    await chooseDefaultGroup(context, person, input.group_id);
    return { message: "Default saved.", result: null };
  }).then(refresh);
}

export async function removePasskey(_state: State, form: FormData): Promise<State> {
  return runAction("members", passkeyIdForm, form, async ({ context, person }, input) => {
    const { approver, actor } = await requireOwnerAbout(context, person, input.approver_id);
    await removeTheirs(context, approver, input.passkey_id, actor, person);
    return { message: "Passkey removed.", result: null };
  });
}

export async function saveRequester(_state: State, form: FormData): Promise<State> {
  return runAction("settings", requesterForm, form, async ({ context, person }, input) => {
    await setRequesterMayApprove(context, person, input.requester_may_approve === "yes");
    return { message: "Saved.", result: null };
  }).then(refresh);
}
