/**
 * An agent's public attestations as JSON Feed and Atom. Feed readers are foreign programs that may take a title for
 * HTML, or make links of what looks like one (a chat that follows the feed): agents' strings go in unlinked, and escaped
 * wherever the format says HTML.
 */
import type { FeedEntry, FeedResponse } from "#lib/api/schemas/identity";
import { formatAmount } from "#lib/protocol/approval/amount";
import { approvalWords } from "#lib/protocol/approval/approval-words";
import { isApprovalMethod } from "#lib/protocol/statement/statement";
import { countOf } from "#lib/protocol/text/count";
import { escapeHtml } from "#lib/protocol/text/escape-html";
import { toUnlinkedText } from "#lib/protocol/text/unlinked-text";

function describeApproval({
  human_approval_method: method,
  human_approval_environment: environment,
}: FeedEntry) {
  if (!isApprovalMethod(method)) return "Human approval: cannot be read.";
  const isTest = environment !== null && environment !== "production";
  return `Human approval: ${isTest ? "TEST, not a real person" : approvalWords[method]}.`;
}

/** People are in the grade already. */
const describeDecision = ({ decided, human_approval_method: method }: FeedEntry): string[] =>
  decided === null || method === "none" || method === "hash" ? [] : [`${decided.replace(/\.$/, "")}.`];

/** A reader that only shows titles must see that something is wrong, so it comes first. */
function titleOf({ action, amount, warnings }: FeedEntry): string {
  const said = toUnlinkedText(action ?? "(cannot be read)");
  const text = amount === null ? said : `${formatAmount(amount)}: ${said}`;
  return warnings.length === 0 ? text : `[${countOf(warnings.length, "warning")}] ${text}`;
}

/** One format's inputs: every text as the formats take it, unlinked and not yet escaped. */
function describeFeed(baseUrl: string, { slug, name, created_at, attestations }: FeedResponse) {
  const page = `${baseUrl}/agent/${slug}`;
  const author = toUnlinkedText(name ?? slug);
  const entries = attestations.map((entry) => {
    const warnings = entry.warnings.map(({ message }) => `Warning: ${message}`);
    const text = `${[describeApproval(entry), ...describeDecision(entry), ...warnings].join(" ")} Payload hash ${entry.payload_hash}. Open the link to verify it.`;
    return {
      url: entry.public_url,
      title: titleOf(entry),
      date: entry.timestamp ?? created_at,
      html: `<p>${escapeHtml(toUnlinkedText(entry.action ?? ""))}</p><p>${escapeHtml(toUnlinkedText(text))}</p>`,
    };
  });
  return {
    page,
    author,
    title: `${author}: attestations`,
    description: `Public attestations of the agent ${toUnlinkedText(slug)}`,
    updated: attestations[0]?.timestamp ?? created_at,
    entries,
  };
}

/** JSON Feed 1.1 (jsonfeed.org/version/1.1). */
export function writeJsonFeed(baseUrl: string, agent: FeedResponse): string {
  const { page, author, title, description, entries } = describeFeed(baseUrl, agent);
  const feed = {
    version: "https://jsonfeed.org/version/1.1",
    title,
    home_page_url: page,
    feed_url: `${page}/feed.json`,
    description,
    authors: [{ name: author, url: page }],
    items: entries.map(({ url, title, date, html }) => ({
      id: url,
      url,
      title,
      content_html: html,
      date_published: date,
      date_modified: date,
    })),
  };
  return JSON.stringify(feed, null, 2);
}

/** Atom (RFC 4287). An entry's title is of type "html", so its text is escaped for HTML and then for XML. */
export function writeAtomFeed(baseUrl: string, agent: FeedResponse): string {
  const { page, author, title, description, updated, entries } = describeFeed(baseUrl, agent);
  const xml = escapeHtml;
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>${xml(page)}</id>`,
    `<title>${xml(title)}</title>`,
    `<updated>${xml(updated)}</updated>`,
    "<generator>Countersign</generator>",
    `<author><name>${xml(author)}</name><uri>${xml(page)}</uri></author>`,
    `<link rel="alternate" href="${xml(page)}"/>`,
    `<link rel="self" href="${xml(page)}/feed.atom"/>`,
    `<subtitle>${xml(description)}</subtitle>`,
    ...entries.map(
      ({ url, title, date, html }) =>
        `<entry><title type="html">${xml(escapeHtml(title))}</title><id>${xml(url)}</id><link href="${xml(url)}"/><updated>${xml(date)}</updated><content type="html">${xml(html)}</content></entry>`,
    ),
    "</feed>",
  ];
  return lines.join("\n");
}
