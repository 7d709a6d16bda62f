/** GET /portal/approvers/attention/export?shown_organization=…: attention of the measured groups by week, as CSV. */

import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { answerExport } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { exportAttention } from "#lib/services/approvals/attention";

export async function GET(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return new Response("Sign in to the portal first.\n", { status: 401 });
  const shown = new URL(request.url).searchParams.get(shownOrganizationField);
  if (!isShown(portal, shown ?? undefined)) return new Response(`${switchedOrganization}\n`, { status: 409 });
  return answerExport(portal, "attention", "csv", exportAttention(portal.context, portal.person));
}
