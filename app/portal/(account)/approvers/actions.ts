"use server";
/** Chooses who is notified of the organization's requests. */
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
import { limitMails, portalActions } from "#lib/server/pages/portal-request";
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

const action = portalActions();
const refreshing = portalActions("/portal/approvers");

export const add = refreshing("members", approverForm, async ({ context, person }, input) => {
  await limitMails(input.email);
  const isAsked = await addApprover(context, person, input);
  const message = isAsked
    ? `${input.name} added. They get requests once they accept, with the link that we sent to ${input.email}.`
    : `${input.name} added.`;
  return { message, result: null };
});

export const askAgain = action("members", approverIdForm, async ({ context, person }, { approver_id }) => {
  const { people } = await listApprovers(context, person);
  await limitMails(people.find(({ id }) => id === approver_id)?.email ?? "");
  const email = await askApproverAgain(context, person, approver_id);
  return { message: `We sent the email to ${email} again.`, result: null };
});

export const remove = action("members", approverIdForm, async ({ context, person }, input) => {
  await removeApprover(context, person, input.approver_id);
  return { message: "Approver removed.", result: null };
});

export const save = refreshing("members", groupForm, async ({ context, person }, input) => {
  const id = input.group_id ?? null;
  await saveGroup(context, person, { id, name: input.name, memberIds: input.members });
  return { message: "Group saved.", result: null };
});

export const saveTurns = refreshing("members", escalationForm, async ({ context, person }, input) => {
  await saveEscalation(context, person, {
    groupId: input.group_id,
    afterMinutes: input.after,
    steps: new Map(input.turns.map((turn) => [turn.slice(0, 36), Number(turn.slice(37))])),
    lastResort: input.last_resort,
  });
  return { message: "Order saved.", result: null };
});

export const deleteGroup = action("members", groupIdForm, async ({ context, person }, input) => {
  await removeGroup(context, person, input.group_id);
  return { message: "Group deleted.", result: null };
});

export const chooseDefault = refreshing("members", defaultGroupForm, async ({ context, person }, input) => {
  await chooseDefaultGroup(context, person, input.group_id);
  return { message: "Default saved.", result: null };
});

export const removePasskey = action("members", passkeyIdForm, async ({ context, person }, input) => {
  const { approver, actor } = await requireOwnerAbout(context, person, input.approver_id);
  await removeTheirs(context, approver, input.passkey_id, actor, person);
  return { message: "Passkey removed.", result: null };
});

export const saveRequester = refreshing("settings", requesterForm, async ({ context, person }, input) => {
  await setRequesterMayApprove(context, person, input.requester_may_approve === "yes");
  return { message: "Saved.", result: null };
});
