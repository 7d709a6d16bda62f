/** The Markdown twin of a guide, reached as /docs/<slug>.md (next.config.ts, rewrites). */

import { findGuide } from "#components/guides/guides";
import { readVerifierSha256 } from "#lib/attestations/program-files";
import { forOwnHosts } from "#lib/door/next-door";
import { publicBaseUrl } from "#lib/door/public-base-url";

async function answerGuide(_request: Request, context: { params: Promise<{ slug: string }> }) {
  const guide = findGuide((await context.params).slug, publicBaseUrl(), await readVerifierSha256());
  if (guide === null) {
    return new Response("Not found\n", {
      status: 404,
      headers: { "Content-Type": "text/plain; charset=utf-8" },
    });
  }
  return new Response(guide.text, {
    headers: {
      "Content-Type": "text/markdown; charset=utf-8",
      "Cache-Control": "public, max-age=300",
      "Access-Control-Allow-Origin": "*",
    },
  });
}

export const GET = forOwnHosts(answerGuide);
