/**
 * POST /notices/<token>/leave: the page's button, and the mail program's own (RFC 8058), which comes from no page of ours
 * and must not be led elsewhere. The token lets its holder leave; what else is in the request is not read.
 */

import { forOwnHosts } from "#lib/api/http/host-check";
import { failurePage } from "#lib/api/http/plain-page";
import { toResponse } from "#lib/api/http/problem";
import { requestAddress } from "#lib/server/next/node-http";
import { getApp } from "#lib/server/singleton";
import { leaveByLink } from "#lib/services/accounts/approvers";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const app = await getApp();
  const { token } = await route.params;
  try {
    await leaveByLink(app.context, token, requestAddress(app, request.headers));
  } catch (error) {
    return toResponse(failurePage(error, `/notices/${token}`, app.context.logger));
  }
  if (request.headers.get("sec-fetch-site") !== "same-origin") return new Response("Unsubscribed.\n");
  return new Response(null, {
    status: 303,
    headers: { location: `/notices/${token}`, "cache-control": "no-store" },
  });
});
