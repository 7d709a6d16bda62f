/** An agent's public page. */
import type { Metadata } from "next";
import { notFound, permanentRedirect } from "next/navigation";
import { AgentView } from "#components/agent/agent-view";
import { UnknownAgent } from "#components/agent/unknown-agent";
import { PageRefusal } from "#components/page-refusal";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { toUnlinkedText } from "#lib/protocol/text/display-text";
import { loadAgent } from "#lib/server/pages/load-pages";
import { withNotFound } from "#lib/server/pages/with-not-found";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

/** Empty fields of the form count as absent; a field given twice is in no link of ours. */
async function readQuery(searchParams: PageProps["searchParams"]) {
  const given = await searchParams;
  const one = (name: string) => {
    const value = given[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return {
    approval: one("approval"),
    action: one("action"),
    warnings: one("warnings"),
    cursor: one("cursor"),
    sort: one("sort"),
  };
}

async function load({ params, searchParams }: PageProps) {
  const { slug } = await params;
  const query = await readQuery(searchParams);
  return {
    slug,
    query,
    loaded: await loadAgent(slug, query.approval, query.action, query.warnings, query.cursor, query.sort),
  };
}

export async function generateMetadata(props: PageProps): Promise<Metadata> {
  const { loaded } = await load(props);
  if (loaded.kind === "unknown") return { title: "Unknown agent" };
  if (loaded.kind === "refused") return { title: "Agent" };
  const { slug, name } = loaded.agent;
  const page = `${publicBaseUrl()}/agent/${slug}`;
  // Chats show both as text of a message, and make links of what looks like one.
  const shownSlug = toUnlinkedText(slug);
  const title = name === null ? shownSlug : `${toUnlinkedText(name)} (${shownSlug})`;
  return {
    title,
    description: `Public attestations, key history and tools of the agent ${shownSlug}.`,
    alternates: {
      canonical: page,
      types: {
        "application/json": `${publicBaseUrl()}/v1/agent/${slug}`,
        "application/feed+json": `${page}/feed.json`,
        "application/atom+xml": `${page}/feed.atom`,
      },
    },
  };
}

async function AgentPage(props: PageProps) {
  const { slug, query, loaded } = await load(props);
  if (loaded.kind === "unknown") notFound();
  if (loaded.kind === "refused") return <PageRefusal subject="the agent" detail={loaded.detail} />;
  if (slug !== loaded.agent.slug) permanentRedirect(`/agent/${loaded.agent.slug}`);
  return <AgentView agent={loaded.agent} record={loaded.record} query={query} />;
}

export default withNotFound(AgentPage, UnknownAgent);
