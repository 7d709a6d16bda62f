"use server";
/**
 * Settings of one person: which emails they get, and their deputy. The form names the organization or the approver, to which
 * the person need not belong.
 */
import type { FormState } from "#lib/api/schemas/form-state";
import { deputyForm, endDeputyForm, noticeForm } from "#lib/api/schemas/portal";
import { dayMs } from "#lib/protocol/time/time-words";
import { readUser, revalidate, runUserAction } from "#lib/server/pages/portal-request";
import { getApp } from "#lib/server/singleton";
import { endDeputy, nameDeputy } from "#lib/services/accounts/approver-groups";
import { saveNoticeSettings } from "#lib/services/accounts/mails";
import { requireOwnApprover } from "#lib/services/accounts/passkeys";
import { noteLook } from "#lib/services/approvals/attention";
import { readApprovalToken } from "#lib/services/approvals/rows";

type State = FormState<null>;

export async function saveNotices(_state: State, form: FormData): Promise<State> {
  return runUserAction(noticeForm, form, async ({ context }, user, input) => {
    const { organization_id, requests, decisions, reminders, titles } = input;
    const wanted = {
      requests,
      decisions: decisions === "on",
      reminders: reminders === "on",
      titles: titles === "on",
    };
    await saveNoticeSettings(context, user, organization_id, wanted);
    return { message: "Saved.", result: null };
  }).then(revalidate("/portal/inbox"));
}

/** Days of UTC, the last one whole. */
export async function saveDeputy(_state: State, form: FormData): Promise<State> {
  return runUserAction(deputyForm, form, async ({ context }, user, input) => {
    await nameDeputy(context, await requireOwnApprover(context, user, input.approver_id), {
      deputyId: input.deputy_id,
      from: input.from === null ? null : new Date(input.from),
      until: new Date(Date.parse(input.until) + dayMs),
    });
    return { message: "Saved. Your deputy and the owners get an email about it.", result: null };
  }).then(revalidate("/portal/inbox"));
}

export async function removeDeputy(_state: State, form: FormData): Promise<State> {
  return runUserAction(endDeputyForm, form, async ({ context }, user, input) => {
    await endDeputy(context, await requireOwnApprover(context, user, input.approver_id));
    return { message: "Ended. Your deputy and the owners get an email about it.", result: null };
  }).then(revalidate("/portal/inbox"));
}

export async function look(token: string): Promise<void> {
  const user = await readUser();
  const { context } = await getApp();
  const requestId = readApprovalToken(context, String(token));
  if (user !== null && requestId !== null) await noteLook(context, requestId, user);
}
