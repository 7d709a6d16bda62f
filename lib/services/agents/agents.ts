/** Agents as attest and authorize see them: found by slug without regard to case, claimed by first use. */

import { and, eq, getTableColumns, inArray, isNull, sql } from "drizzle-orm";
import { agentSlug } from "#lib/api/schemas/primitives";
import type { Database, Executor } from "#lib/db/client";
import { agentKeys, agents, toolManifests } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { base64Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import type { ActionPredicate } from "#lib/protocol/statement/statement";
import type { AccountsContext } from "#lib/services/accounts/context";

export function slugKey(slug: string): string {
  return slug.toLowerCase();
}

/**
 * True if it can be anyone's: other text may be nothing that a column holds (U+0000), or lower-case to somebody's slug.
 */
export function isSlug(text: string): boolean {
  return agentSlug.safeParse(text).success;
}

export const agentNotFound = () => new AppError("agent_not_found", "no agent has this slug");

export function slugTaken(field = "agent_slug"): AppError {
  return fieldError("agent_slug_taken", field, "belongs to another account");
}

/** Finds the agent with the tool manifest that is registered at this moment; null for an unclaimed slug. */
export async function findAgent(executor: Executor, slug: string) {
  if (!isSlug(slug)) return null;
  const [row] = await executor
    .select({
      agent: { ...getTableColumns(agents), version },
      manifest: toolManifests.manifest,
      keyProvenAt: agentKeys.proven_at,
    })
    .from(agents)
    .leftJoin(toolManifests, eq(toolManifests.hash, agents.tool_manifest_hash))
    .leftJoin(agentKeys, and(eq(agentKeys.agent_id, agents.id), isNull(agentKeys.retired_at)))
    .where(eq(agents.slug_key, slugKey(slug)));
  return row ? { ...row.agent, manifest: row.manifest, key_proven_at: row.keyProvenAt } : null;
}

export type FoundAgent = NonNullable<Awaited<ReturnType<typeof findAgent>>>;

const agentText = `SELECT agents.*, agents.xmin::text AS version, m.manifest, k.proven_at AS key_proven_at
  FROM agents
  LEFT JOIN tool_manifests m ON m.hash = agents.tool_manifest_hash
  LEFT JOIN agent_keys k ON k.agent_id = agents.id AND k.retired_at IS NULL
  WHERE agents.slug_key = $1`;

export async function findPublicAgent(database: Database, slug: string): Promise<FoundAgent | null> {
  if (!isSlug(slug)) return null;
  const [row] = await database.statement<FoundAgent>(agentText)(slugKey(slug));
  return row ?? null;
}

type Registration = Pick<typeof agents.$inferSelect, "public_key" | "code_hash" | "tool_manifest_hash">;

/** Registration that an attestation is compared with, as its payload holds it. */
export function describeRegistered(agent: Registration | null): ActionPredicate["registered"] {
  return {
    agent_public_key: agent?.public_key ? base64Encode(agent.public_key) : null,
    code_hash: agent?.code_hash ?? null,
    tool_manifest_hash: agent?.tool_manifest_hash ?? null,
  };
}

const version = sql<string>`${agents}.xmin::text`;

export interface SlugClaim {
  slug: string;
  organizationId: string;
  isTest: boolean;
}

/**
 * Claims the slugs that are free, and answers the agent of each claim in its order, null if another
 * organization owns it.
 */
export async function claimAgents(context: AccountsContext, tx: Executor, claims: SlugClaim[]) {
  const now = context.clock();
  await tx
    .insert(agents)
    .values(
      claims.map(({ slug, organizationId, isTest }) => ({
        id: uuidV7(now.getTime(), context.random(16)),
        organization_id: organizationId,
        slug,
        slug_key: slugKey(slug),
        is_test: isTest,
        created_at: now,
        updated_at: now,
      })),
    )
    .onConflictDoNothing({ target: agents.slug_key });
  const rows = await tx
    .select()
    .from(agents)
    .where(inArray(agents.slug_key, [...new Set(claims.map(({ slug }) => slugKey(slug)))]));
  const byKey = new Map(rows.map((row) => [row.slug_key, row]));
  return claims.map(({ slug, organizationId }) => {
    const agent = byKey.get(slugKey(slug));
    return agent?.organization_id === organizationId ? agent : null;
  });
}

export function describeKeyStatus({
  public_key: publicKey,
  key_proven_at: provenAt,
}: Pick<FoundAgent, "public_key" | "key_proven_at">): "none" | "unproven" | "proven" {
  if (publicKey === null) return "none";
  return provenAt === null ? "unproven" : "proven";
}
