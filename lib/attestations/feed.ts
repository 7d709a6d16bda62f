/** GET /v1/agent/:slug: public attestations, newest first, read from their signed bytes. */

import { and, count, desc, eq, ilike, isNotNull, lt, or, sql } from "drizzle-orm";
import { agentNotFound, findAgent } from "#lib/agents/agents";
import { readIdentity } from "#lib/agents/identities";
import type { Context } from "#lib/approvals/context";
import { isHumanApproved } from "#lib/approvals/embed";
import type { FeedEntry, FeedResponse } from "#lib/contract/identity";
import { attestations } from "#lib/db/schema";
import { publicUrl } from "#lib/domain/addresses";
import { base64UrlDecode, base64UrlEncode, hexEncode, utf8Decode, utf8Encode } from "#lib/domain/bytes";
import { AppError } from "#lib/errors";
import type { PublishedKey } from "#lib/signing/signing-keys";
import { readSignedStatement } from "./signed-statement";
import { describeWarnings, matchesWarnings } from "./stored-warnings";

interface Position {
  logId: number;
  index: number;
}

/** The place of the last entry shown: stable while new ones arrive. */
function encodeCursor({ logId, index }: Position): string {
  return base64UrlEncode(utf8Encode(`${logId}.${index}`));
}

function decodeCursor(cursor: string): Position {
  try {
    const match = /^(\d{1,9})\.(\d{1,15})$/.exec(utf8Decode(base64UrlDecode(cursor)));
    if (match) return { logId: Number(match[1]), index: Number(match[2]) };
  } catch {
    // answered below
  }
  throw new AppError("bad_request", "cursor: is not valid");
}

/** What the payload would say is null where its hash or its signature does not hold. */
export function describeFeedEntry(
  baseUrl: string,
  slug: string,
  row: typeof attestations.$inferSelect,
  keys: readonly PublishedKey[],
): FeedEntry {
  const statement = readSignedStatement(row, keys);
  const predicate = statement?.predicate;
  const approval = predicate?.human_approval;
  const text = (name: string) => {
    const value = predicate?.request[name];
    return typeof value === "string" ? value : null;
  };
  return {
    attestation_id: row.id,
    id: row.id,
    action: text("action"),
    inputs_hash: text("inputs_hash"),
    timestamp: predicate?.timestamp ?? null,
    payload_hash: hexEncode(row.payload_hash),
    has_zk_proof: row.zk_proof !== null,
    agent_authenticated: predicate?.verdicts.agent_authenticated ?? null,
    code_hash_verified: predicate?.verdicts.code_hash_verified ?? null,
    tools_authorized: predicate?.verdicts.tools_authorized ?? null,
    human_approved: approval ? isHumanApproved(approval) : null,
    human_approval_method: approval?.method ?? null,
    human_approval_environment: approval?.method === "proof_of_personhood" ? approval.environment : null,
    warnings: describeWarnings(row, statement, keys),
    public_url: publicUrl(baseUrl, slug, row.id),
  };
}

export const approvalFilters = ["none", "hash", "proof_of_personhood"] as const;

export interface FeedFilter {
  approval?: (typeof approvalFilters)[number] | undefined;
  /** Part of the action, without regard to case. */
  action?: string | undefined;
  /** True: only those with warnings; false: only those without. */
  warnings?: boolean | undefined;
}

/** Filters the search columns. What is shown still comes from the signed bytes. */
function matches({ approval, action, warnings }: FeedFilter, keys: readonly PublishedKey[]) {
  return and(
    approval === undefined ? undefined : eq(attestations.human_approval_method, approval),
    action === undefined ? undefined : ilike(attestations.action, `%${action.replace(/[\\%_]/g, "\\$&")}%`),
    matchesWarnings(warnings, keys),
  );
}

export async function readAgentFeed(
  context: Context,
  slug: string,
  query: { limit: number; cursor?: string | undefined } & FeedFilter,
): Promise<FeedResponse> {
  const { db } = context.database;
  if (query.action?.includes("\0")) throw new AppError("bad_request", "action: must not contain U+0000");
  const agent = await findAgent(db, slug);
  if (agent === null) throw agentNotFound();
  const isListed = and(
    eq(attestations.agent_id, agent.id),
    eq(attestations.is_public, true),
    isNotNull(attestations.payload),
  );
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  const isOlder =
    after === null
      ? sql`true`
      : or(
          lt(attestations.log_id, after.logId),
          and(eq(attestations.log_id, after.logId), lt(attestations.leaf_index, after.index)),
        );
  const keys = await context.keys.published();
  const rows = await db
    .select()
    .from(attestations)
    .where(and(isListed, isOlder, matches(query, keys)))
    .orderBy(desc(attestations.log_id), desc(attestations.leaf_index))
    .limit(query.limit + 1);
  const [total] = await db.select({ count: count() }).from(attestations).where(isListed);
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  const identity = await readIdentity(db, slug);
  const { baseUrl } = context.settings;
  return {
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    total_attestations: total?.count ?? 0,
    created_at: agent.created_at.toISOString(),
    public_key: identity.public_key,
    identity,
    attestations: shown.map((row) => describeFeedEntry(baseUrl, agent.slug, row, keys)),
    next_cursor:
      rows.length > query.limit && last ? encodeCursor({ logId: last.log_id, index: last.leaf_index }) : null,
  };
}
