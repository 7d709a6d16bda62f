/** What an agent's page is made from: the feed of the API, with the page's filters. */
import { headers } from "next/headers";
import { cache } from "react";
import { listAgentKeys } from "#lib/agents/agent-keys";
import { getApp } from "#lib/app/app";
import { countPage } from "#lib/app/page-limits";
import { readAgentFeed } from "#lib/attestations/feed";
import { readAgentRecord } from "#lib/attestations/record";
import type { FeedResponse, KeyHistoryResponse } from "#lib/contract/identity";
import { approvalMethods } from "#lib/contract/portal-attestations";
import { warningsFilter } from "#lib/contract/warnings";
import { readPublicly } from "#lib/door/read-publicly";
import { AppError } from "#lib/errors";

export type LoadedAgent =
  | { kind: "found"; agent: FeedResponse; recordLength: number }
  | { kind: "unknown" }
  | { kind: "refused"; detail: string };

const entriesShown = 20;

type Refused = Exclude<LoadedAgent, { kind: "found" }>;

/** What a page says instead; anything else is a fault. */
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
    const { context } = await getApp();
    try {
      await countPage(await headers(), "feed");
      const page: Parameters<typeof readAgentFeed>[2] = {
        limit: entriesShown,
        cursor,
        approval: approvalMethods.find((known) => known === approval),
        action: action?.slice(0, 200),
        warnings: warningsFilter.catch(undefined).parse(warnings),
      };
      const agent = await readPublicly(context, (from) => readAgentFeed(from, slug, page));
      const { head } = await readAgentRecord(context, agent.slug, { from: 1, limit: 1 });
      return { kind: "found", agent, recordLength: head.sequence };
    } catch (error) {
      return describeRefusal(error);
    }
  },
);
