/** GET /portal/attestations/export?format=csv|ndjson&shown_organization=…: the list's filters, all pages, as a file. */

import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { attestationFilters, exportFormat } from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import { answerDownload } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { exportOwnAttestations } from "#lib/services/attestations/own";

const types = { csv: "text/csv; charset=utf-8", ndjson: "application/x-ndjson; charset=utf-8" } as const;

export async function GET(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return new Response("Sign in to the portal first.\n", { status: 401 });
  const { context, person } = portal;
  const query = Object.fromEntries(new URL(request.url).searchParams);
  if (!isShown(portal, query[shownOrganizationField]))
    return new Response(`${switchedOrganization}\n`, { status: 409 });
  const format = exportFormat.parse(query["format"]);
  const exporting = exportOwnAttestations(context, person, format, attestationFilters.parse(query));
  const parts = await exporting.catch((error: unknown) => {
    if (error instanceof AppError && error.errorName === "forbidden") return error;
    throw error;
  });
  if (parts instanceof AppError) return new Response(`${sentence(parts.detail)}\n`, { status: 403 });
  const day = context.clock().toISOString().slice(0, 10);
  return answerDownload(portal, `attestations-${day}.${format}`, types[format], parts);
}
