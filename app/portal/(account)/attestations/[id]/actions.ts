"use server";
/** Making a presentation of one attestation, opening it by links, and erasing its content. */
import type { FormState } from "#lib/api/schemas/form-state";
import { attestationForm, openingLinkForm, presentationForm, receiptLinkForm } from "#lib/api/schemas/portal";
import { runAction } from "#lib/server/pages/portal-request";
import { eraseContent as eraseOwn } from "#lib/services/attestations/erase";
import { presentOwnAttestation } from "#lib/services/attestations/own";
import { makeOpeningLink, revokeOpeningLink } from "#lib/services/packs/opening-links";

type State = FormState<{ json: string }>;

export async function makePresentation(_state: State, form: FormData): Promise<State> {
  return runAction(
    "operate",
    presentationForm,
    form,
    async ({ context, person }, { attestation_id, ...wanted }) => {
      const presentation = await presentOwnAttestation(context, person, attestation_id, wanted);
      return {
        message: `Presentation created. Send it to ${wanted.audience}.`,
        result: { json: JSON.stringify(presentation, null, 2) },
      };
    },
  );
}

export async function eraseContent(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("erase", attestationForm, form, async ({ context, person }, { attestation_id }) => {
    await eraseOwn(context, person, attestation_id);
    return { message: "Content erased. The log entry stays.", result: null };
  });
}

type Made = FormState<{ link: string }>;

export async function makeReceiptLink(_state: Made, form: FormData): Promise<Made> {
  return runAction("take_out", receiptLinkForm, form, async ({ context, person }, input) => {
    const { attestation_id: attestationId, opening, days } = input;
    const link = await makeOpeningLink(context, person, { attestationId, opening }, days);
    return { message: "Link created.", result: { link } };
  });
}

export async function revokeLink(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("take_out", openingLinkForm, form, async ({ context, person }, { link_id }) => {
    await revokeOpeningLink(context, person, link_id);
    return { message: "Link revoked.", result: null };
  });
}
