/** Every key that an agent has had, in pages. */
import type { Metadata } from "next";
import { notFound, permanentRedirect } from "next/navigation";
import { AgentKeysView } from "#components/agent/agent-keys-view";
import { NotFoundPage } from "#components/not-found-page";
import { PageRefusal } from "#components/page-refusal";
import { toUnlinkedText } from "#lib/protocol/text/display-text";
import { loadAgentKeys } from "#lib/server/pages/load-pages";
import { withNotFound } from "#lib/server/pages/with-not-found";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  return { title: `Keys of ${toUnlinkedText(decodeURIComponent((await params).slug))}` };
}

async function AgentKeysPage({ params, searchParams }: PageProps) {
  const slug = decodeURIComponent((await params).slug);
  const { cursor: given } = await searchParams;
  const cursor = typeof given === "string" && given !== "" ? given : undefined;
  const loaded = await loadAgentKeys(slug, cursor);
  if (loaded.kind === "unknown") notFound();
  if (loaded.kind === "refused") return <PageRefusal subject="the agent" detail={loaded.detail} />;
  if (slug !== loaded.history.slug) permanentRedirect(`/agent/${loaded.history.slug}/keys`);
  return <AgentKeysView history={loaded.history} isFirstPage={cursor === undefined} />;
}

export default withNotFound(AgentKeysPage, NotFoundPage);
