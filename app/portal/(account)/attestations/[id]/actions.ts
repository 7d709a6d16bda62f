"use server";
/** Making a presentation of one attestation, opening it by links, and erasing its content. */
import { attestationForm, openingLinkForm, presentationForm, receiptLinkForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { eraseContent as eraseOwn } from "#lib/services/attestations/erase";
import { presentOwnAttestation } from "#lib/services/attestations/own";
import { makeOpeningLink, revokeOpeningLink } from "#lib/services/packs/opening-links";

const action = portalActions();

export const makePresentation = action(
  "operate",
  presentationForm,
  async ({ context, person }, { attestation_id, ...wanted }) => {
    const presentation = await presentOwnAttestation(context, person, attestation_id, wanted);
    return {
      message: `Presentation created. Send it to ${wanted.audience}.`,
      result: { json: JSON.stringify(presentation, null, 2) },
    };
  },
);

export const eraseContent = action(
  "erase",
  attestationForm,
  async ({ context, person }, { attestation_id }) => {
    await eraseOwn(context, person, attestation_id);
    return { message: "Content erased. The log entry stays.", result: null };
  },
);

export const makeReceiptLink = action("take_out", receiptLinkForm, async ({ context, person }, input) => {
  const { attestation_id: attestationId, opening, days } = input;
  const link = await makeOpeningLink(context, person, { attestationId, opening }, days);
  return { message: "Link created.", result: { link } };
});

export const revokeLink = action("take_out", openingLinkForm, async ({ context, person }, { link_id }) => {
  await revokeOpeningLink(context, person, link_id);
  return { message: "Link revoked.", result: null };
});
