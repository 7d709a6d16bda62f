"use server";
/** Turning on, and off, that a group's attention is measured, and that requests are planted for it. */
import { attentionForm, plantedForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { armPlanted, measureAttention } from "#lib/services/accounts/approver-groups";

const refreshing = portalActions("/portal/approvers/attention");

export const measure = refreshing("members", attentionForm, async ({ context, person }, input) => {
  const isOn = input.measured === "yes";
  await measureAttention(context, person, { groupId: input.group_id, isOn });
  return { message: isOn ? "Measured from now on." : "No longer measured.", result: null };
});

export const arm = refreshing("members", plantedForm, async ({ context, person }, input) => {
  const perMonth = input.per_month;
  await armPlanted(context, person, { groupId: input.group_id, perMonth });
  const message =
    perMonth === null
      ? "No more are planted."
      : "Saved for the next schedule: one that runs keeps its number. The first begins once people of the group have approved five requests by passkey.";
  return { message, result: null };
});
