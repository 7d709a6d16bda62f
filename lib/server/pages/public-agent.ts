/** Reads of public pages that the server also makes before Next renders them; Next itself is not loaded here. */
import { readPublicly } from "#lib/api/http/response-cache";
import type { FeedResponse } from "#lib/api/schemas/identity";
import type { Context } from "#lib/services/approvals/context";
import { type ExampleAttestation, readExample } from "#lib/services/attestations/example";
import { readAgentFeed } from "#lib/services/attestations/feed";
import { type RecordSummary, readRecordSummary } from "#lib/services/attestations/record";
import { demoOrganizationId } from "#lib/services/portal/demo";

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

/** The landing page's example: the one that the settings name, or the demo's newest. Null also without a database: the page explains and links. */
export async function findLandingExample(
  context: Context,
  id: string | undefined,
): Promise<ExampleAttestation | null> {
  try {
    return (
      (id === undefined ? null : await readExample(context, { id })) ??
      (await readExample(context, { organizationId: demoOrganizationId }))
    );
  } catch (error) {
    context.logger.warn({ err: error }, "the landing page has no example");
    return null;
  }
}
