/** Loads public pages for Next, their metadata with them, and draws the picture that a chat or a timeline shows of a link. */
import { headers } from "next/headers";
import { cache } from "react";
import type { KeyHistoryResponse } from "#lib/api/schemas/identity";
import { warningsFilter } from "#lib/api/schemas/record";
import { AppError, describeError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import type { Card } from "#lib/jobs/picture-worker";
import { approvalMethods } from "#lib/protocol/statement/human-approval";
import { requestAddress } from "#lib/server/next/node-http";
import { takePreloadedData } from "#lib/server/next/page-cache";
import { countPage } from "#lib/server/next/page-limits";
import { type App, getApp } from "#lib/server/singleton";
import { listAgentKeys } from "#lib/services/agents/agent-changes";
import {
  type AgentPage,
  entriesShown,
  readAgentForPage,
  type VerificationPage,
  verifyForPage,
} from "./public-pages";

type LoadedAgent =
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

/** Loads once a request, for the page and its metadata together; strings as the query has them. */
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

type LoadedVerification =
  | ({ kind: "found" } & VerificationPage)
  | { kind: "unknown"; elsewhere: string | null }
  | { kind: "limited"; detail: string };

/** Takes the data that the production server has handed over for this request, or loads it here. */
async function findVerification(app: App, id: string): Promise<VerificationPage> {
  const asked = await headers();
  const handedOver = takePreloadedData<VerificationPage>(app, asked);
  if (handedOver !== null) return handedOver;
  await countPage(asked, "verify");
  return verifyForPage(app.context, id, requestAddress(app, asked));
}

/** Loads once a request, for the page and its metadata together. Everything but 404 and 429 is thrown. */
export const loadVerification = cache(async (id: string): Promise<LoadedVerification> => {
  const app = await getApp();
  try {
    return { kind: "found", ...(await findVerification(app, id)) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.errorName === "attestation_not_found")
      return { kind: "unknown", elsewhere: app.context.logList?.baseOf(id) ?? null };
    if (error.errorName === "rate_limit_exceeded") return { kind: "limited", detail: error.detail };
    throw error;
  }
});

export type { Card };

/** Revalidated each time: a copy would outlive an erasure and a change of the verdict. */
export const linkCardHeaders = { "Cache-Control": "no-cache" };

export async function drawLinkCard(card: Card): Promise<Response> {
  const app = await getApp();
  const client = requestAddress(app, await headers());
  try {
    const png = await app.pictures.run("drawCard", card, createShare("other", { client }));
    return new Response(png, { headers: { ...linkCardHeaders, "Content-Type": "image/png" } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return new Response(null, {
      status: describeError(error.errorName).status,
      headers: { ...linkCardHeaders, ...error.headers },
    });
  }
}
