/** API keys as the portal manages them: made with chosen scopes, rotated with an overlap, revoked. */

import { and, desc, eq, lt } from "drizzle-orm";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import { cutPage, type PageQuery } from "#lib/api/http/cursor";
import { ownerScopes, type Scope } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { dayMs } from "#lib/protocol/time/time-words";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { holdRole, personNotFound, requireRole } from "#lib/services/accounts/members";
import { createApiKey, isLiveKey, revokeApiKey, testPrefix } from "./api-keys";

const hourMs = 3_600_000;

function describeKey(row: typeof apiKeys.$inferSelect, now: Date) {
  const isExpired = row.expires_at !== null && row.expires_at <= now;
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    shownAs: `${row.prefix}…${row.last_four}`,
    scopes: row.scopes,
    isTest: row.prefix.startsWith(testPrefix),
    attestationsPerDay: row.attestations_per_day,
    state:
      row.revoked_at !== null ? ("revoked" as const) : isExpired ? ("expired" as const) : ("live" as const),
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    lastUsedFrom: row.last_used_ip,
    expiresAt: row.expires_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  };
}

export async function listApiKeys(context: AccountsContext, person: MemberPrincipal, page: PageQuery) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select()
    .from(apiKeys)
    .where(
      and(
        eq(apiKeys.organization_id, person.organizationId),
        page.cursor === undefined ? undefined : lt(apiKeys.id, page.cursor),
      ),
    )
    .orderBy(desc(apiKeys.id))
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, ({ id }) => id);
  return {
    rows: shown.map((row) => describeKey(row, context.clock())),
    nextCursor,
  };
}

export interface KeyWish {
  name: string;
  scopes: readonly Scope[];
  /** Null: it does not expire. */
  lifetimeDays: number | null;
  /** Attestations per UTC day; without one: as many as the organization can. Only owners set one. */
  perDay?: number | null;
}

/** Acts that ask for a passkey, of keys with these scopes: whoever has the key is asked for none. */
const guarded = [
  ["erase", "erase"],
  ["rules", "rules"],
  ["freeze", "freeze"],
  ["scim", "members"],
] as const;

/** A key with one of the owners' scopes is theirs to make, and its text theirs to see. The role holds until the commit. */
async function requireMaker(tx: Executor, person: MemberPrincipal, scopes: readonly string[]): Promise<void> {
  const role = await holdRole(tx, person, "operate");
  if (role !== "owner" && ownerScopes.some((scope) => scopes.includes(scope)))
    throw new AppError(
      "forbidden",
      "only an owner of the organization can create or rotate a key that can erase, change rules or members",
    );
  for (const [scope, act] of guarded) if (scopes.includes(scope)) await requireRole(tx, person, act);
}

/** The key's text leaves the service in this answer and never again. */
export async function makeApiKey(context: AccountsContext, person: MemberPrincipal, wish: KeyWish) {
  return context.database.db.transaction(async (tx) => {
    await requireMaker(tx, person, wish.scopes);
    if (wish.perDay != null) await requireRole(tx, person, "limit");
    const { id, text, defaultVisibility } = await createApiKey(context, tx, {
      organizationId: person.organizationId,
      name: wish.name,
      email: person.email,
      scopes: wish.scopes,
      expiresAt:
        wish.lifetimeDays === null ? null : new Date(context.clock().getTime() + wish.lifetimeDays * dayMs),
      actor: toActor(person),
      attestationsPerDay: wish.perDay ?? null,
    });
    return { id, text, defaultVisibility };
  });
}

/** From the next attestation on, in every process: what was recorded today counts. Null takes the limit away. */
export async function limitApiKey(
  context: AccountsContext,
  person: MemberPrincipal,
  { keyId, perDay }: { keyId: string; perDay: number | null },
): Promise<void> {
  const { organizationId } = person;
  await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "limit");
    const limited = await tx
      .update(apiKeys)
      .set({ attestations_per_day: perDay })
      .where(and(eq(apiKeys.id, keyId), eq(apiKeys.organization_id, organizationId), isLiveKey))
      .returning({ id: apiKeys.id });
    if (limited.length === 0) throw personNotFound();
    await recordAudit(context, tx, {
      organizationId,
      actor: toActor(person),
      action: "api_key.limited",
      subject: keyId,
      detail: { attestations_per_day: perDay },
    });
  });
}

/**
 * A new key with the old one's name, scopes, expiry and limit, of which nothing is used. The old one works until the overlap is over (or until its
 * own expiry, if that is sooner); without an overlap it is refused at once.
 */
export async function rotateApiKey(
  context: AccountsContext,
  person: MemberPrincipal,
  { keyId, overlapHours }: { keyId: string; overlapHours: number },
) {
  return context.database.db.transaction(async (tx) => {
    await requireMaker(tx, person, []);
    const [old] = await tx
      .select()
      .from(apiKeys)
      .where(and(eq(apiKeys.id, keyId), eq(apiKeys.organization_id, person.organizationId), isLiveKey))
      .for("update");
    if (!old) throw personNotFound();
    await requireMaker(tx, person, old.scopes);
    const now = context.clock();
    const overlapEnd = new Date(now.getTime() + overlapHours * hourMs);
    const oldEnd = old.expires_at !== null && old.expires_at < overlapEnd ? old.expires_at : overlapEnd;
    // Before the new key is made: one that takes the old one's place at once needs no room beside it.
    await tx
      .update(apiKeys)
      .set(overlapHours === 0 ? { revoked_at: now } : { expires_at: oldEnd })
      .where(eq(apiKeys.id, old.id));
    const { id, text } = await createApiKey(context, tx, {
      organizationId: person.organizationId,
      name: old.name,
      email: person.email,
      scopes: old.scopes as Scope[],
      expiresAt: old.expires_at,
      actor: toActor(person),
      attestationsPerDay: old.attestations_per_day,
    });
    await recordAudit(context, tx, {
      organizationId: person.organizationId,
      actor: toActor(person),
      action: "api_key.rotated",
      subject: old.id,
      detail: {
        new_key: id,
        old_key_works_until: overlapHours === 0 ? now.toISOString() : oldEnd.toISOString(),
      },
    });
    return { id, text, oldWorksUntil: overlapHours === 0 ? null : oldEnd.toISOString() };
  });
}

export async function revokeOwnApiKey(
  context: AccountsContext,
  person: MemberPrincipal,
  keyId: string,
): Promise<void> {
  if (!(await revokeApiKey(context, person, keyId))) throw personNotFound();
}
