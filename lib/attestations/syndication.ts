/**
 * An agent's public attestations as JSON Feed and Atom. Feed readers are foreign programs that may take a title for
 * HTML, or make links of what looks like one (a chat that follows the feed): agents' strings go in unlinked, and escaped
 * wherever the format says HTML.
 */
import { Feed } from "feed";
import type { FeedEntry, FeedResponse } from "#lib/contract/identity";
import { approvalWords } from "#lib/core/approval/approval-words";
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { isApprovalMethod } from "#lib/core/statement/statement";
import { countOf } from "#lib/core/text/count";
import { escapeHtml } from "#lib/core/text/escape-html";
import { toUnlinkedText } from "#lib/core/text/unlinked-text";

function describeApproval({
  human_approval_method: method,
  human_approval_environment: environment,
}: FeedEntry) {
  if (!isApprovalMethod(method)) return "Human approval: cannot be read.";
  const isTest = environment !== null && environment !== "production";
  return `Human approval: ${isTest ? "TEST, not a real person" : approvalWords[method]}.`;
}

/** A reader that only shows titles must see that something is wrong, so it comes first. */
function titleOf({ action, warnings }: FeedEntry): string {
  const text = toUnlinkedText(action ?? "(cannot be read)");
  return warnings.length === 0 ? text : `[${countOf(warnings.length, "warning")}] ${text}`;
}

/** How a format takes text: of the feed itself, and of an entry's title. */
interface Texts {
  plain: (text: string) => string;
  title: (text: string) => string;
}

function buildFeed(baseUrl: string, agent: FeedResponse, { plain, title }: Texts): Feed {
  const page = `${baseUrl}/agent/${agent.slug}`;
  const name = toUnlinkedText(agent.name ?? agent.slug);
  const newest = agent.attestations[0]?.timestamp;
  const feed = new Feed({
    id: page,
    link: page,
    title: plain(`${name}: attestations`),
    description: plain(`Public attestations of the agent ${toUnlinkedText(agent.slug)}`),
    updated: new Date(newest ?? agent.created_at),
    generator: "Countersign",
    feedLinks: { json: `${page}/feed.json`, atom: `${page}/feed.atom` },
    author: { name: plain(name), link: page },
  });
  for (const entry of agent.attestations) {
    const warnings = entry.warnings.map(({ message }) => `Warning: ${message}`);
    const text = `${[describeApproval(entry), ...warnings].join(" ")} Payload hash ${entry.payload_hash}. Open the link to verify it.`;
    feed.addItem({
      id: entry.public_url,
      link: entry.public_url,
      title: title(titleOf(entry)),
      date: new Date(entry.timestamp ?? agent.created_at),
      content: `<p>${escapeHtml(toUnlinkedText(entry.action ?? ""))}</p><p>${escapeHtml(toUnlinkedText(text))}</p>`,
    });
  }
  return feed;
}

/** The library writes version 1.0, which knows one author only. */
export function writeJsonFeed(baseUrl: string, agent: FeedResponse): string {
  const same = (text: string) => text;
  const feed = buildFeed(baseUrl, agent, { plain: same, title: same });
  const { author, ...rest } = JSON.parse(feed.json1()) as JsonObject;
  const authors = author === undefined ? [] : [author];
  return JSON.stringify({ ...rest, version: "https://jsonfeed.org/version/1.1", authors }, null, 2);
}

/** An entry's title is HTML there. Plain text the library escapes itself, but takes `&amp;` for `&` before it does. */
export function writeAtomFeed(baseUrl: string, agent: FeedResponse): string {
  const plain = (text: string) => text.replaceAll("&", "&amp;");
  return buildFeed(baseUrl, agent, { plain, title: escapeHtml }).atom1();
}
