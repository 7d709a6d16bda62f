/** GET /portal/audit/export?format=csv|ndjson&shown_organization=…: the audit log by the page's filters, as a file. */

import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { auditFilters, exportFormat } from "#lib/api/schemas/portal";
import { answerExport } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { exportAudit } from "#lib/services/accounts/audit-list";

export async function GET(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return new Response("Sign in to the portal first.\n", { status: 401 });
  const query = Object.fromEntries(new URL(request.url).searchParams);
  if (!isShown(portal, query[shownOrganizationField]))
    return new Response(`${switchedOrganization}\n`, { status: 409 });
  const format = exportFormat.parse(query["format"]);
  const { context, person } = portal;
  return answerExport(
    portal,
    "audit",
    format,
    exportAudit(context, person, format, auditFilters.parse(query)),
  );
}
