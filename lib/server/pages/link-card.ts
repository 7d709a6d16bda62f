/** The picture that a chat or a timeline shows of a link, drawn off the request thread. */
import { headers as requestHeaders } from "next/headers";
import { AppError, describeError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import type { Card } from "#lib/jobs/picture-worker";
import { requestAddress } from "#lib/server/next/node-http";
import { getApp } from "#lib/server/singleton";

export type { Card };

/** Not shown again without asking: a copy would outlive an erasure and a change of the verdict. */
export const linkCardHeaders = { "Cache-Control": "no-cache" };

export async function drawLinkCard(card: Card): Promise<Response> {
  const app = await getApp();
  const client = requestAddress(app, await requestHeaders());
  try {
    const png = await app.pictures.run("drawCard", card, createShare("other", { client }));
    return new Response(png, { headers: { ...linkCardHeaders, "Content-Type": "image/png" } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new Response(null, {
      status: describeError(error.errorName).status,
      headers: { ...linkCardHeaders, ...error.headers },
    });
  }
}
