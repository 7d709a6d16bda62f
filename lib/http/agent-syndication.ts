/**
 * An agent's public attestations as JSON Feed and Atom. Feed readers are foreign programs that may take a title for
 * HTML: agents' strings go in with hidden characters made visible, and escaped wherever the format says HTML.
 */
import { Feed } from "feed";
import type { FeedEntry, FeedResponse } from "#lib/contract/identity";
import { toVisibleText } from "#lib/domain/display-text";

const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

function approvalWords({
  human_approval_method: method,
  human_approval_environment: environment,
}: FeedEntry) {
  switch (method) {
    case "proof_of_personhood":
      return environment === "production"
        ? "Human approval: proven by World ID."
        : "Human approval: TEST, not a real person.";
    case "hash":
      return "Human approval: asserted by the caller, not proven.";
    case "none":
      return "Human approval: none recorded.";
    default:
      return "Human approval: cannot be read.";
  }
}

/** The part of a feed that is the agent's own words, in both formats. */
function buildFeed(baseUrl: string, agent: FeedResponse, escapeTitle: (text: string) => string): Feed {
  const page = `${baseUrl}/agent/${agent.slug}`;
  const name = toVisibleText(agent.name ?? agent.slug);
  const newest = agent.attestations[0]?.timestamp;
  const feed = new Feed({
    id: page,
    link: page,
    title: escapeTitle(`${name}: attestations`),
    description: escapeTitle(`Public attestations of the agent ${agent.slug}`),
    updated: new Date(newest ?? agent.created_at),
    generator: "Countersign",
    feedLinks: { json: `${page}/feed.json`, atom: `${page}/feed.atom` },
    author: { name: escapeTitle(name), link: page },
  });
  for (const entry of agent.attestations) {
    const text = `${approvalWords(entry)} Payload hash ${entry.payload_hash}. Open the link to have it verified.`;
    feed.addItem({
      id: entry.public_url,
      link: entry.public_url,
      title: escapeTitle(toVisibleText(entry.action ?? "(cannot be read)")),
      date: new Date(entry.timestamp ?? agent.created_at),
      content: `<p>${escapeHtml(toVisibleText(entry.action ?? ""))}</p><p>${escapeHtml(text)}</p>`,
    });
  }
  return feed;
}

export function writeJsonFeed(baseUrl: string, agent: FeedResponse): string {
  return buildFeed(baseUrl, agent, (text) => text).json1();
}

export function writeAtomFeed(baseUrl: string, agent: FeedResponse): string {
  return buildFeed(baseUrl, agent, escapeHtml).atom1();
}
