"use server";
/** Links to evidence packs. */
import type { FormState } from "#lib/api/schemas/form-state";
import { openingLinkForm, packLinkForm } from "#lib/api/schemas/portal";
import { runAction } from "#lib/server/pages/portal-request";
import { makeOpeningLink, revokeOpeningLink } from "#lib/services/packs/opening-links";

type Made = FormState<{ link: string }>;

export async function makePackLink(_state: Made, form: FormData): Promise<Made> {
  return runAction("take_out", packLinkForm, form, async ({ context, person }, { pack, days }) => {
    const link = await makeOpeningLink(context, person, { pack }, days);
    return { message: "Link created.", result: { link } };
  });
}

export async function revokeLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("take_out", openingLinkForm, form, async ({ context, person }, { link_id }) => {
    await revokeOpeningLink(context, person, link_id);
    return { message: "Link revoked.", result: null };
  });
}
