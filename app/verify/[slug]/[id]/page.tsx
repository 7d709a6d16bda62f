/** An attestation's public page. The id decides; a wrong slug leads to the right address. */
import type { Metadata } from "next";
import { notFound, permanentRedirect, redirect } from "next/navigation";
import { PageRefusal } from "#components/page-refusal";
import { toVerdict } from "#components/verify/facts";
import { VerificationView } from "#components/verify/verification-view";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { toUnlinkedText } from "#lib/protocol/text/display-text";
import { loadVerification } from "#lib/server/pages/load-pages";
import { withNotFound } from "#lib/server/pages/with-not-found";
import UnknownAttestation from "./not-found";

interface PageProps {
  readonly params: Promise<{ slug: string; id: string }>;
}

const titleLength = 70;

/** Chats show a page's title as text of a message, and make links of what looks like one. */
function shorten(text: string): string {
  const characters = [...toUnlinkedText(text)];
  return characters.length <= titleLength
    ? characters.join("")
    : `${characters.slice(0, titleLength).join("")}…`;
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  const { id } = await params;
  const loaded = await loadVerification(id);
  if (loaded.kind === "unknown") return { title: "Unknown attestation" };
  if (loaded.kind === "limited") return { title: "Too many requests" };
  const { answer } = loaded;
  const { title, sentence } = toVerdict(loaded);
  const subject =
    answer.action === null
      ? shorten(answer.agent_slug)
      : `${shorten(answer.agent_slug)}: ${shorten(answer.action)}`;
  return {
    title: `${title} · ${subject}`,
    description: sentence,
    alternates: {
      canonical: answer.public_url,
      types: { "application/json": `${publicBaseUrl()}/v1/verify/${answer.attestation_id}` },
    },
    openGraph: {
      title: `${title} · ${subject}`,
      description: sentence,
      url: answer.public_url,
      type: "article",
    },
    ...(answer.is_public ? {} : { robots: { index: false } }),
  };
}

async function VerificationPage({ params }: PageProps) {
  const { slug, id } = await params;
  const loaded = await loadVerification(id);
  if (loaded.kind === "unknown" && loaded.elsewhere !== null)
    redirect(`${loaded.elsewhere}/verify/${encodeURIComponent(slug)}/${encodeURIComponent(id)}`);
  if (loaded.kind === "unknown") notFound();
  if (loaded.kind === "limited") {
    const title = "Too many requests from your address";
    return <PageRefusal title={title} subject="this attestation" detail={loaded.detail} />;
  }
  const { answer } = loaded;
  const isRightAddress = slug === answer.agent_slug && id === answer.attestation_id;
  if (!isRightAddress) permanentRedirect(`/verify/${answer.agent_slug}/${answer.attestation_id}`);
  return <VerificationView verification={loaded} base={publicBaseUrl()} />;
}

export default withNotFound(VerificationPage, UnknownAttestation);
