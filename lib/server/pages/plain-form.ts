/** Buttons of the demo and of approvers: plain forms that work without JavaScript, each answered with where to go. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import { failurePage } from "#lib/api/http/plain-page";
import { toResponse } from "#lib/api/http/problem";
import { requestAddress } from "#lib/server/next/node-http";
import { type App, getApp } from "#lib/server/singleton";

/** `work` gives the path that the visitor is led to; `back` is the form's own page. */
export async function answerPlainForm(
  request: Request,
  back: string,
  work: (app: App, ip: string) => Promise<string>,
): Promise<Response> {
  const app = await getApp();
  try {
    requireSameOrigin(request, app.env.baseUrl);
    const path = await work(app, requestAddress(app, request.headers));
    return new Response(null, { status: 303, headers: { location: path, "cache-control": "no-store" } });
  } catch (error) {
    return toResponse(failurePage(error, back, app.context.logger));
  }
}
