/** GET /portal/attestations/export?format=csv|ndjson&shown_organization=…: the list's filters, all pages, as a file. */

import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { attestationFilters, exportFormat } from "#lib/api/schemas/portal";
import { answerExport } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { exportOwnAttestations } from "#lib/services/attestations/own";

export async function GET(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return new Response("Sign in to the portal first.\n", { status: 401 });
  const { context, person } = portal;
  const query = Object.fromEntries(new URL(request.url).searchParams);
  if (!isShown(portal, query[shownOrganizationField]))
    return new Response(`${switchedOrganization}\n`, { status: 409 });
  const format = exportFormat.parse(query["format"]);
  const exporting = exportOwnAttestations(context, person, format, attestationFilters.parse(query));
  return answerExport(portal, "attestations", format, exporting);
}
