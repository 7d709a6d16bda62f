/** Loads an agent's page for Next, with the page's filters. */

import { headers } from "next/headers";
import { cache } from "react";
import type { KeyHistoryResponse } from "#lib/api/schemas/identity";
import { warningsFilter } from "#lib/api/schemas/record";
import { AppError } from "#lib/errors";
import { approvalMethods } from "#lib/protocol/statement/human-approval";
import { takePreloadedData } from "#lib/server/next/page-cache";
import { countPage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";
import { listAgentKeys } from "#lib/services/agents/agent-changes";
import { type AgentPage, entriesShown, readAgentForPage } from "./public-agent";

export type LoadedAgent =
  | ({ kind: "found" } & AgentPage)
  | { kind: "unknown" }
  | { kind: "refused"; detail: string };

type Refused = Exclude<LoadedAgent, { kind: "found" }>;

function describeRefusal(error: unknown): Refused {
  if (!(error instanceof AppError)) throw error;
  if (error.errorName === "agent_not_found") return { kind: "unknown" };
  if (error.errorName === "rate_limit_exceeded" || error.errorName === "bad_request")
    return { kind: "refused", detail: error.detail };
  throw error;
}

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
    sort?: string,
  ): Promise<LoadedAgent> => {
    const app = await getApp();
    try {
      const asked = await headers();
      const handedOver = takePreloadedData<AgentPage>(app, asked);
      if (handedOver !== null) return { kind: "found", ...(await handedOver) };
      await countPage(asked, "feed");
      const page: Parameters<typeof readAgentForPage>[2] = {
        cursor,
        ...(sort === "amount" && { isByAmount: true }),
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
