/** The agent's public attestations as JSON Feed (jsonfeed.org). */
import { writeJsonFeed } from "#lib/attestations/syndication";
import { answerFeed } from "#lib/pages/feed-answer";

export const dynamic = "force-dynamic";

export async function GET(request: Request, { params }: { params: Promise<{ slug: string }> }) {
  const { slug } = await params;
  return answerFeed(request, slug, {
    write: writeJsonFeed,
    contentType: "application/feed+json; charset=utf-8",
  });
}
