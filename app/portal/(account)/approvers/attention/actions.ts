"use server";
/** Turning on, and off, that a group's attention is measured, and that requests are planted for it. */
import type { FormState } from "#lib/api/schemas/form-state";
import { attentionForm, plantedForm } from "#lib/api/schemas/portal";
import { revalidate, runAction } from "#lib/server/pages/portal-request";
import { armPlanted, measureAttention } from "#lib/services/accounts/approver-groups";

export async function measure(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("members", attentionForm, form, async ({ context, person }, input) => {
    const isOn = input.measured === "yes";
    await measureAttention(context, person, { groupId: input.group_id, isOn });
    return { message: isOn ? "Measured from now on." : "No longer measured.", result: null };
  }).then(revalidate("/portal/approvers/attention"));
}

export async function arm(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("members", plantedForm, form, async ({ context, person }, input) => {
    const perMonth = input.per_month;
    await armPlanted(context, person, { groupId: input.group_id, perMonth });
    const message =
      perMonth === null
        ? "No more are planted."
        : "Saved for the next schedule: one that runs keeps its number. The first begins once people of the group have approved five requests by passkey.";
    return { message, result: null };
  }).then(revalidate("/portal/approvers/attention"));
}
