"use server";
/** Links to evidence packs. */
import { openingLinkForm, packLinkForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { makeOpeningLink, revokeOpeningLink } from "#lib/services/packs/opening-links";

const action = portalActions();

export const makePackLink = action("take_out", packLinkForm, async ({ context, person }, { pack, days }) => {
  const link = await makeOpeningLink(context, person, { pack }, days);
  return { message: "Link created.", result: { link } };
});

export const revokeLink = action("take_out", openingLinkForm, async ({ context, person }, { link_id }) => {
  await revokeOpeningLink(context, person, link_id);
  return { message: "Link revoked.", result: null };
});
