/**
 * The answer of a feed: newest entries, limited like GET /v1/agent/:slug, with a validator so that readers may ask
 * often.
 */
import { createHash } from "node:crypto";
import type { MemberPrincipal } from "#lib/api/http/context";
import { answerProblem, toResponse } from "#lib/api/http/problem";
import { readPublicly } from "#lib/api/http/response-cache";
import type { FeedResponse } from "#lib/api/schemas/identity";
import type { ExportFormat } from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
import { sentence } from "#lib/protocol/text/display-text";
import { countPage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
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
      // Cached for revalidation only: an erased entry must not be shown for another minute.
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

/** Milliseconds for which a check of who may still read lasts. */
const judgedForMs = 1_000;

/** Ends in an error when `requireAllowed` throws: a large file takes minutes. */
async function* whileAllowed<Part>(
  { clock }: Pick<Context, "clock">,
  requireAllowed: () => Promise<unknown>,
  parts: AsyncGenerator<Part>,
): AsyncGenerator<Part> {
  let judgedMs = clock().getTime();
  for await (const part of parts) {
    const nowMs = clock().getTime();
    if (nowMs - judgedMs >= judgedForMs) {
      await requireAllowed();
      judgedMs = nowMs;
    }
    yield part;
  }
}

/** A file that is written while it is sent, to a member of the organization whose file it is. */
export const answerDownload = (
  { context, person }: { context: Pick<Context, "database" | "clock">; person: MemberPrincipal },
  name: string,
  type: string,
  written: AsyncGenerator<string | Uint8Array>,
): Response =>
  answerFile(context, () => requireRole(context.database.db, person, "read"), name, type, written);

/** The same for whoever `requireAllowed` lets through. */
export function answerFile(
  context: Pick<Context, "clock">,
  requireAllowed: () => Promise<unknown>,
  name: string,
  type: string,
  written: AsyncGenerator<string | Uint8Array>,
): Response {
  const encoder = new TextEncoder();
  const parts = whileAllowed(context, requireAllowed, written);
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
    cancel: async () => {
      await parts.return(undefined);
    },
  });
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
    },
  });
}

const exportTypes = {
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson; charset=utf-8",
} as const;

/** A list of the portal as a file of the day, or why this person may not take it out. */
export async function answerExport(
  portal: { context: Pick<Context, "database" | "clock">; person: MemberPrincipal },
  name: string,
  format: ExportFormat,
  exporting: Promise<AsyncGenerator<string>>,
): Promise<Response> {
  const parts = await exporting.catch((error: unknown) => {
    if (error instanceof AppError && error.errorName === "forbidden") return error;
    throw error;
  });
  if (parts instanceof AppError) return new Response(`${sentence(parts.detail)}\n`, { status: 403 });
  const day = portal.context.clock().toISOString().slice(0, 10);
  return answerDownload(portal, `${name}-${day}.${format}`, exportTypes[format], parts);
}
