/** The agent's public attestations as Atom (RFC 4287). */

import { answerFeed } from "#lib/server/pages/feed-answer";
import { writeAtomFeed } from "#lib/services/attestations/feed";

export const dynamic = "force-dynamic";

export async function GET(request: Request, { params }: { params: Promise<{ slug: string }> }) {
  const { slug } = await params;
  return answerFeed(request, slug, {
    write: writeAtomFeed,
    contentType: "application/atom+xml; charset=utf-8",
  });
}
