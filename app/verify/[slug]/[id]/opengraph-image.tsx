/**
 * Link card of an attestation, for chats and timelines: the verdict in words, agent and action, never more than is
 * public or holds.
 */
import { describeCard } from "#components/verify/share-words";
import { type Card, drawLinkCard, linkCardHeaders, loadVerification } from "#lib/server/pages/load-pages";

export const size = { width: 1200, height: 630 };
export const contentType = "image/png";
export const alt = "The verdict on this attestation";

async function describe(id: string): Promise<Card | number> {
  const loaded = await loadVerification(id);
  if (loaded.kind === "unknown") return 404;
  return loaded.kind === "limited" ? 429 : describeCard(loaded);
}

export default async function VerificationImage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const card = await describe(id);
  return typeof card === "number"
    ? new Response(null, { status: card, headers: linkCardHeaders })
    : drawLinkCard(card);
}
