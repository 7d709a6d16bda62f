/** GET /v1/agent/:slug: an agent's public attestations. */

import { readPublicKeyHistory } from "#lib/agents/agent-keys";
import { agentNotFound, findPublicAgent } from "#lib/agents/agents";
import { describeIdentity } from "#lib/agents/identities";
import type { Context } from "#lib/approvals/context";
import type { FeedResponse } from "#lib/contract/identity";
import { AppError } from "#lib/errors";
import { cutPage, type PageQuery } from "#lib/http/cursor";
import type { PublishedKey } from "#lib/signing/signing-keys";
import {
  type AttestationFilter,
  containing,
  cursorOfPlace,
  describeListed,
  type ListedAttestation,
  type ListedRow,
  readPlace,
  toListed,
} from "./list";
import { revokedIds } from "./stored-warnings";

type FeedFilter = Pick<AttestationFilter, "approval" | "action" | "warnings">;

/** $1: agent. $2, $3: the place before the page, null at the beginning. $4 to $6: filters or null; $7: revoked keys. */
const pageText = `SELECT a.id, a.log_id, a.leaf_index, a.payload, a.payload_hash, a.signature, a.key_id, a.is_public,
    a.human_authorization, a.zk_proof, a.erased_at
  FROM attestations a
  WHERE a.agent_id = $1 AND a.is_public AND a.payload IS NOT NULL
    AND (a.log_id, a.leaf_index) < (coalesce($2::int, 2147483647), coalesce($3::bigint, 0))
    AND ($4::text IS NULL OR a.human_approval_method = $4)
    AND ($5::text IS NULL OR a.action ILIKE $5)
    AND ($6::boolean IS NULL OR $6 = (
      coalesce(cardinality(a.warnings), 0) > 0 OR a.erased_at IS NOT NULL OR a.key_id = ANY($7::text[])))
  ORDER BY a.log_id DESC NULLS LAST, a.leaf_index DESC NULLS LAST
  LIMIT $8`;

const countText = "SELECT listed AS total FROM agent_records WHERE agent_id = $1";

async function readPage(
  { database }: Context,
  agent: { id: string; slug: string },
  published: PublishedKey[],
  { approval = null, action, warnings = null }: { [Name in keyof FeedFilter]: FeedFilter[Name] | null },
  page: PageQuery,
): Promise<{ shown: ListedAttestation<ListedRow>[]; nextCursor: string | null }> {
  const after = page.cursor === undefined ? null : readPlace(page.cursor);
  const rows = await database.statement<ListedRow>(pageText)(
    agent.id,
    after?.log_id ?? null,
    after?.leaf_index ?? null,
    approval,
    action === undefined || action === null ? null : containing(action),
    warnings,
    revokedIds(published),
    page.limit + 1,
  );
  const { shown, nextCursor } = cutPage(rows, page, cursorOfPlace);
  return { shown: shown.map((row) => toListed(row, agent.slug, published)), nextCursor };
}

/** Of all pages, whatever the filter. */
async function countListed({ database }: Context, agentId: string): Promise<number> {
  const [row] = await database.statement<{ total: number }>(countText)(agentId);
  return row?.total ?? 0;
}

export async function readAgentFeed(
  context: Context,
  slug: string,
  { limit, cursor, ...filter }: PageQuery & FeedFilter,
): Promise<FeedResponse> {
  const { database, keys } = context;
  if (filter.action?.includes("\0")) throw new AppError("bad_request", "action: must not contain U+0000");
  const [agent, published] = await Promise.all([findPublicAgent(database, slug), keys.published()]);
  if (agent === null) throw agentNotFound();
  const [{ shown, nextCursor }, total, newestKeys] = await Promise.all([
    readPage(context, agent, published, filter, { limit, cursor }),
    countListed(context, agent.id),
    readPublicKeyHistory(database, agent.id),
  ]);
  const identity = describeIdentity(agent, newestKeys);
  return {
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    total_attestations: total,
    created_at: agent.created_at.toISOString(),
    public_key: identity.public_key,
    identity,
    attestations: shown.map((listed) => describeListed(context.settings.baseUrl, listed)),
    next_cursor: nextCursor,
  };
}
