/**
 * Link card of an attestation, for chats and timelines: the verdict in words, agent and action, never more than is
 * public or holds.
 */
import { verdictOf } from "#components/verify/facts";
import type { VerdictKind } from "#components/verify/verdict";
import { drawable } from "#lib/protocol/text/drawable";
import { describeBounds } from "#lib/protocol/time/time-words";
import { type Card, drawLinkCard, linkCardHeaders } from "#lib/server/pages/link-card";
import { loadVerification } from "#lib/server/pages/verification-page";

export const size = { width: 1200, height: 630 };
export const contentType = "image/png";
export const alt = "The verdict on this attestation";

const colors: Record<VerdictKind, string> = {
  authentic: "#14603c",
  warned: "#7a4a00",
  test: "#6b2a86",
  private: "#474e59",
  invalid: "#a3201f",
  erased: "#474e59",
};

async function describe(id: string): Promise<Card | number> {
  const loaded = await loadVerification(id);
  if (loaded.kind === "unknown") return 404;
  if (loaded.kind === "limited") return 429;
  const verdict = verdictOf(loaded);
  const { action: said, valid } = loaded.answer;
  const { made_after, made_before } = loaded.answer.time_bounds;
  const action = said === null || valid === false ? null : drawable(said);
  return {
    color: colors[verdict.kind],
    title: verdict.title,
    sentence: verdict.sentence,
    time: valid === false ? "" : (drawable(describeBounds(made_after, made_before)) ?? ""),
    subject: `${drawable(loaded.answer.agent_slug) ?? "An agent"}${action === null ? "" : `: ${action}`}`,
  };
}

export default async function VerificationImage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const card = await describe(id);
  return typeof card === "number"
    ? new Response(null, { status: card, headers: linkCardHeaders })
    : drawLinkCard(card);
}
