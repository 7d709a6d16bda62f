/** Buttons of the demo and of approvers: plain forms that work without JavaScript, each answered with where to go. */
import { type App, getApp } from "#lib/app/app";
import { requestAddress } from "#lib/app/request-address";
import { requireSameOrigin } from "#lib/door/same-origin";
import { AppError, describeError } from "#lib/errors";

/** `work` gives the path that the visitor is led to. */
export async function answerPlainForm(
  request: Request,
  work: (app: App, ip: string) => Promise<string>,
): Promise<Response> {
  const app = await getApp();
  try {
    requireSameOrigin(request, app.env.baseUrl);
    const path = await work(app, requestAddress(app, request.headers));
    return new Response(null, { status: 303, headers: { location: path, "cache-control": "no-store" } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new Response(`${error.detail}\n`, { status: describeError(error.errorName).status });
  }
}
