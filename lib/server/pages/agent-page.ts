/** Loads an agent's page for Next, with the page's filters. */

import { headers } from "next/headers";
import { cache } from "react";
import { readPublicly } from "#lib/api/http/response-cache";
import type { FeedResponse, KeyHistoryResponse } from "#lib/api/schemas/identity";
import { warningsFilter } from "#lib/api/schemas/record";
import { AppError } from "#lib/errors";
import { approvalMethods } from "#lib/protocol/statement/statement";
import { countPage } from "#lib/server/next/page-cache";
import { takePreloadedData } from "#lib/server/next/record-page-cache";
import { getApp } from "#lib/server/singleton";
import { listAgentKeys } from "#lib/services/agents/agent-changes";
import type { Context } from "#lib/services/approvals/context";
import { type ExampleAttestation, readExample } from "#lib/services/attestations/example";
import { readAgentFeed } from "#lib/services/attestations/feed";
import { type RecordSummary, readRecordSummary } from "#lib/services/attestations/record";
import { demoOrganizationId } from "#lib/services/portal/demo";

/* Loads an agent's page: the feed of the API and the length of the record. */

export interface AgentPage {
  agent: FeedResponse;
  record: RecordSummary;
}

const entriesShown = 20;

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

export type LoadedAgent =
  | ({ kind: "found" } & AgentPage)
  | { kind: "unknown" }
  | { kind: "refused"; detail: string };

type Refused = Exclude<LoadedAgent, { kind: "found" }>;

/** Refusals that have a page; anything else is a fault. */
function describeRefusal(error: unknown): Refused {
  if (!(error instanceof AppError)) throw error;
  if (error.errorName === "agent_not_found") return { kind: "unknown" };
  if (error.errorName === "rate_limit_exceeded" || error.errorName === "bad_request")
    return { kind: "refused", detail: error.detail };
  throw error;
}

/** The page of an agent's key history. */
export async function loadAgentKeys(
  slug: string,
  cursor: string | undefined,
): Promise<{ kind: "found"; history: KeyHistoryResponse } | Refused> {
  const { context } = await getApp();
  try {
    await countPage(await headers(), "feed");
    const history = await listAgentKeys(context.database.db, slug, { limit: entriesShown, cursor });
    return { kind: "found", history };
  } catch (error) {
    return describeRefusal(error);
  }
}

/** Once a request, for the page and its metadata together; strings as the query has them. */
export const loadAgent = cache(
  async (
    slug: string,
    approval?: string,
    action?: string,
    warnings?: string,
    cursor?: string,
  ): Promise<LoadedAgent> => {
    const app = await getApp();
    try {
      const asked = await headers();
      const handedOver = takePreloadedData<AgentPage>(app, asked);
      if (handedOver !== null) return { kind: "found", ...(await handedOver) };
      await countPage(asked, "feed");
      const page: Parameters<typeof readAgentForPage>[2] = {
        cursor,
        approval: approvalMethods.find((known) => known === approval),
        action: action?.slice(0, 200),
        warnings: warningsFilter.catch(undefined).parse(warnings),
      };
      return { kind: "found", ...(await readAgentForPage(app.context, slug, page)) };
    } catch (error) {
      return describeRefusal(error);
    }
  },
);

/* The attestation that the landing page shows. */

/** The one that the settings name, or the demo's newest. Null also without a database: the page explains and links. */
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
