/** Loads an agent's page: the feed of the API and the length of the record. */

import { readPublicly } from "#lib/api/http/read-publicly";
import type { FeedResponse } from "#lib/api/schemas/identity";
import type { Context } from "#lib/services/approvals/context";
import { readAgentFeed } from "#lib/services/attestations/feed";
import { type RecordSummary, readRecordSummary } from "#lib/services/attestations/record";

export interface AgentPage {
  agent: FeedResponse;
  record: RecordSummary;
}

export const entriesShown = 20;

type PageQuery = Parameters<typeof readAgentFeed>[2];

export async function readAgentForPage(
  context: Context,
  slug: string,
  page: Omit<PageQuery, "limit"> = {},
): Promise<AgentPage> {
  const read = (from: Context) => readAgentFeed(from, slug, { ...page, limit: entriesShown });
  const [agent, record] = await Promise.all([readPublicly(context, read), readRecordSummary(context, slug)]);
  return { agent, record };
}
