"use server";
/** Creating, rotating and revoking API keys. */
import type { CreatedKey } from "#components/portal/keys/key-dialogs";
import type { FormState } from "#lib/api/schemas/form-state";
import { createKeyForm, keyForm, limitKeyForm, rotateKeyForm } from "#lib/api/schemas/portal";
import { revalidate, runAction } from "#lib/server/pages/portal-request";
import { limitApiKey, makeApiKey, revokeOwnApiKey, rotateApiKey } from "#lib/services/keys/api-keys";

type KeyState = FormState<{ text: string }>;

export async function createKey(
  _state: FormState<CreatedKey>,
  form: FormData,
): Promise<FormState<CreatedKey>> {
  return runAction("operate", createKeyForm, form, async ({ context, person }, input) => {
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
    return {
      message: attests ? `${created} ${visibility}` : created,
      result: { text, scopes: input.scopes },
    };
  }).then(revalidate("/portal", "layout"));
}

/** The page is not revalidated here: the dialog shows the new key until it is closed. */
export async function rotateKey(_state: KeyState, form: FormData): Promise<KeyState> {
  return runAction("operate", rotateKeyForm, form, async ({ context, person }, input) => {
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
}

export async function revokeKey(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("operate", keyForm, form, async ({ context, person }, input) => {
    await revokeOwnApiKey(context, person, input.key_id);
    return { message: "Key revoked. It no longer works.", result: null };
  });
}

export async function limitKey(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("limit", limitKeyForm, form, async ({ context, person }, input) => {
    await limitApiKey(context, person, { keyId: input.key_id, perDay: input.per_day ?? null });
    return { message: input.per_day === undefined ? "Limit removed." : "Limit saved.", result: null };
  }).then(revalidate("/portal/keys"));
}
