/** The agent's public attestations as JSON Feed (jsonfeed.org). */

import { answerFeed } from "#lib/server/pages/feed-answer";
import { writeJsonFeed } from "#lib/services/attestations/feed";

export const dynamic = "force-dynamic";

export async function GET(request: Request, { params }: { params: Promise<{ slug: string }> }) {
  const { slug } = await params;
  return answerFeed(request, slug, {
    write: writeJsonFeed,
    contentType: "application/feed+json; charset=utf-8",
  });
}
