"use server";
/** Creating, rotating and revoking API keys. */
import type { CreatedKey } from "#components/portal/keys/key-dialogs";
import { createKeyForm, keyForm, limitKeyForm, rotateKeyForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { limitApiKey, makeApiKey, revokeOwnApiKey, rotateApiKey } from "#lib/services/keys/api-keys";

const action = portalActions();
const refreshing = portalActions("/portal", "layout");

export const createKey = refreshing("operate", createKeyForm, async ({ context, person }, input) => {
  const days = input.lifetime_days;
  const { text, defaultVisibility } = await makeApiKey(context, person, {
    name: input.name,
    scopes: input.scopes,
    lifetimeDays: days === undefined ? null : Number(days),
    perDay: input.per_day ?? null,
  });
  const created = `Key “${input.name}” created.`;
  const attests = input.scopes.some((scope) => ["attest", "hook", "record"].includes(scope));
  const visibility = `What it attests is ${defaultVisibility}, unless a request says otherwise with is_public.`;
  const result: CreatedKey = { text, scopes: input.scopes };
  return { message: attests ? `${created} ${visibility}` : created, result };
});

/** The page is not revalidated here: the dialog shows the new key until it is closed. */
export const rotateKey = action("operate", rotateKeyForm, async ({ context, person }, input) => {
  const { text, oldWorksUntil } = await rotateApiKey(context, person, {
    keyId: input.key_id,
    overlapHours: Number(input.overlap_hours),
  });
  const message =
    oldWorksUntil === null
      ? "The old key has expired."
      : `The old key works until ${oldWorksUntil.slice(0, 16).replace("T", " ")} UTC.`;
  return { message, result: { text } };
});

export const revokeKey = action("operate", keyForm, async ({ context, person }, input) => {
  await revokeOwnApiKey(context, person, input.key_id);
  return { message: "Key revoked. It no longer works.", result: null };
});

export const limitKey = portalActions("/portal/keys")(
  "limit",
  limitKeyForm,
  async ({ context, person }, input) => {
    await limitApiKey(context, person, { keyId: input.key_id, perDay: input.per_day ?? null });
    return { message: input.per_day === undefined ? "Limit removed." : "Limit saved.", result: null };
  },
);
