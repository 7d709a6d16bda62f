/**
 * The answer of a feed: newest entries, limited like GET /v1/agent/:slug, with a validator so that readers may ask
 * often.
 */
import { createHash } from "node:crypto";
import { toResponse } from "#lib/api/http/messages";
import { answerProblem } from "#lib/api/http/problem";
import { readPublicly } from "#lib/api/http/read-publicly";
import type { FeedResponse } from "#lib/api/schemas/identity";
import { httpRequestId } from "#lib/protocol/encoding/ids";
import { countPage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";
import { readAgentFeed } from "#lib/services/attestations/feed";

export interface FeedFormat {
  write: (baseUrl: string, agent: FeedResponse) => string;
  contentType: string;
}

const entries = 50;

export async function answerFeed(request: Request, slug: string, format: FeedFormat): Promise<Response> {
  const { context, env } = await getApp();
  try {
    await countPage(request.headers, "feed");
    const feed = await readPublicly(context, (from) => readAgentFeed(from, slug, { limit: entries }));
    const text = format.write(env.baseUrl, feed);
    const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
    const headers = {
      "Content-Type": format.contentType,
      // Kept only to be asked about: an erased entry must not be shown for another minute.
      "Cache-Control": "no-cache",
      "Access-Control-Allow-Origin": "*",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      ETag: etag,
    };
    const isKnown = request.headers.get("if-none-match") === etag;
    return new Response(isKnown ? null : text, { status: isKnown ? 304 : 200, headers });
  } catch (error) {
    return toResponse(answerProblem(error, env.baseUrl, httpRequestId(context.random(12)), context.logger));
  }
}
