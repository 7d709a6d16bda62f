/** POST /opened/<token>/file: what the link opens, as a file; each time is an event of the organization's audit log. */
import { requireSameOrigin } from "#lib/api/http/common-headers";
import { forOwnHosts } from "#lib/api/http/host-check";
import { failurePage } from "#lib/api/http/plain-page";
import { toResponse } from "#lib/api/http/problem";
import { requestAddress } from "#lib/server/next/node-http";
import { answerFile } from "#lib/server/pages/feed-answer";
import { getApp } from "#lib/server/singleton";
import { openByLink } from "#lib/services/packs/opening-links";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const app = await getApp();
  const { context, env } = app;
  const { token } = await route.params;
  try {
    requireSameOrigin(request, env.baseUrl);
    const { name, type, parts, requireOpen } = await openByLink(
      context,
      token,
      requestAddress(app, request.headers),
    );
    return answerFile(context, requireOpen, name, type, parts);
  } catch (error) {
    return toResponse(failurePage(error, `/opened/${token}`, context.logger));
  }
});
