/** GET /v1/agent/:slug: an agent's public attestations. */

import { and, eq, isNotNull } from "drizzle-orm";
import { agentNotFound, findAgent } from "#lib/agents/agents";
import { readIdentity } from "#lib/agents/identities";
import type { Context } from "#lib/approvals/context";
import type { FeedResponse } from "#lib/contract/identity";
import { attestations } from "#lib/db/schema";
import type { PageQuery } from "#lib/door/pages";
import { AppError } from "#lib/errors";
import { type AttestationFilter, byPlace, countAttestations, describeListed, readAttestations } from "./list";

export async function readAgentFeed(
  context: Context,
  slug: string,
  { limit, cursor, ...filter }: PageQuery & Pick<AttestationFilter, "approval" | "action" | "warnings">,
): Promise<FeedResponse> {
  const { db } = context.database;
  if (filter.action?.includes("\0")) throw new AppError("bad_request", "action: must not contain U+0000");
  const agent = await findAgent(db, slug);
  if (agent === null) throw agentNotFound();
  const isListed = and(
    eq(attestations.agent_id, agent.id),
    eq(attestations.is_public, true),
    isNotNull(attestations.payload),
  );
  const { shown, nextCursor } = await readAttestations(context, isListed, filter, { limit, cursor }, byPlace);
  const identity = await readIdentity(db, slug);
  return {
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    total_attestations: await countAttestations(context, isListed),
    created_at: agent.created_at.toISOString(),
    public_key: identity.public_key,
    identity,
    attestations: shown.map((listed) => describeListed(context.settings.baseUrl, listed)),
    next_cursor: nextCursor,
  };
}
