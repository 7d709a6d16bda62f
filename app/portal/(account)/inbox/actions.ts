"use server";
/** Which emails a person gets. The form names the organization: an approver need not belong to it. */
import { revalidatePath } from "next/cache";
import type { FormState } from "#lib/api/schemas/form-state";
import { noticeForm } from "#lib/api/schemas/portal";
import { runUserAction } from "#lib/server/pages/portal-request";
import { saveNoticeSettings } from "#lib/services/accounts/mails";

type State = FormState<null>;

export async function saveNotices(_state: State, form: FormData): Promise<State> {
  const state = await runUserAction(noticeForm, form, async ({ context }, user, input) => {
    const { organization_id, requests, decisions, reminders, titles } = input;
    const wanted = {
      requests,
      decisions: decisions === "on",
      reminders: reminders === "on",
      titles: titles === "on",
    };
    await saveNoticeSettings(context, user, organization_id, wanted);
    return { message: "Saved.", result: null };
  });
  if (state.status === "done") revalidatePath("/portal/inbox");
  return state;
}
