/** GET /portal/search?q=…&shown_organization=…: what the search of the portal finds, as JSON. */

import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { searchQuery } from "#lib/api/schemas/portal";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { searchOrganization } from "#lib/services/portal/overview";

export async function GET(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return new Response("Sign in to the portal first.\n", { status: 401 });
  const { searchParams } = new URL(request.url);
  if (!isShown(portal, searchParams.get(shownOrganizationField)))
    return new Response(`${switchedOrganization}\n`, { status: 409 });
  const text = searchQuery.parse(searchParams.get("q"));
  const hits = text === undefined ? [] : await searchOrganization(portal.context, portal.person, text);
  return Response.json(hits, { headers: { "cache-control": "no-store" } });
}
