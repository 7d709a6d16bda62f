/** API keys: made, described and revoked. Stored as SHA-256; `authenticate.ts` looks them up. */

import { crc32 } from "node:zlib";
import { and, count, desc, eq, gt, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import {
  type Actor,
  type KeyPrincipal,
  type MemberPrincipal,
  type Principal,
  type ServiceSettings,
  toActor,
} from "#lib/api/http/context";
import { cutPage, type PageQuery } from "#lib/api/http/opaque-text";
import { ownerScopes, type Scope, type Visibility } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys, dailyKeyUsage, dailyUsage, organizations } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { sha256, utf8Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { dayMs } from "#lib/protocol/time/time-words";
import { recordAct, recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { holdRole, personNotFound, requireRole } from "#lib/services/accounts/members";
import { lockOrganization } from "#lib/services/accounts/organizations";

/* Limit of an organization's attestations per UTC day: its own, or the service's, or none. */

/** No limit, as the database has it: its largest integer, which no day reaches. */
const NO_DAILY_LIMIT = 2_147_483_647;

type DailySettings = Pick<ServiceSettings, "LIMIT_ATTEST_PER_DAY">;

export const serviceDailyLimit = ({ LIMIT_ATTEST_PER_DAY }: DailySettings): number =>
  LIMIT_ATTEST_PER_DAY ?? NO_DAILY_LIMIT;

/** Limit in the form of answers, so that a client's arithmetic goes on. */
const shownDailyLimit = (limit: number): number =>
  limit >= NO_DAILY_LIMIT ? Number.MAX_SAFE_INTEGER : limit;

/*
 * The text of an API key: `cs_live_` or `cs_test_`, 30 base62 characters of a CSPRNG and 6 of the CRC-32 over both, so
 * that a typo is refused without a database look-up.
 */

export const testPrefix = "cs_test_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretLength = 30;
const checksumLength = 6;
const pattern = /^cs_(?:live|test)_[0-9A-Za-z]{36}$/;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < checksumLength; i += 1) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Bytes of 248 and more are passed over, so that every character is equally likely. */
export function createApiKeyText(kind: "live" | "test", random: (length: number) => Uint8Array): string {
  let secret = "";
  while (secret.length < secretLength) {
    for (const byte of random(secretLength)) {
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  const text = `cs_${kind}_${secret}`;
  return text + checksum(text);
}

export function isApiKeyText(text: string): boolean {
  return pattern.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength));
}

export interface NewApiKey {
  organizationId: string;
  name: string;
  email: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  /** The key's own limit, if it has one. */
  attestationsPerDay?: number | null;
  actor: Actor;
}

export const invalidApiKey = () => new AppError("invalid_api_key", "the API key is not valid");

/** Rows of keys are never deleted, so an answer without one is not about the key. */
export const keyLookUpFailed = () =>
  new AppError("service_unavailable", "the API key could not be looked up; try again");

export const isLiveKey = and(
  isNull(apiKeys.revoked_at),
  or(isNull(apiKeys.expires_at), gt(apiKeys.expires_at, sql`now()`)),
);

/** Refuses one live key too many. Under the organization's lock, so that keys made at once are counted one by one. */
async function requireRoomForKey(
  context: AccountsContext,
  tx: Executor,
  organizationId: string,
): Promise<void> {
  await lockOrganization(tx, organizationId);
  const limit = context.settings.LIMIT_KEYS_PER_ORGANIZATION;
  const [live] = await tx
    .select({ keys: count() })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), isLiveKey));
  if ((live?.keys ?? 0) < limit) return;
  throw new AppError(
    "too_many_keys",
    `the organization has ${limit} active API keys, which is the maximum; revoke one that is no longer used, then try again`,
  );
}

/** The key's text leaves the service in this answer and never again. */
export async function createApiKey(
  context: AccountsContext,
  tx: Executor,
  wanted: NewApiKey,
): Promise<{ id: string; text: string; createdAt: Date; defaultVisibility: Visibility }> {
  await requireRoomForKey(context, tx, wanted.organizationId);
  const text = createApiKeyText(context.settings.worldId === "local" ? "test" : "live", context.random);
  const createdAt = context.clock();
  const id = uuidV7(createdAt.getTime(), context.random(16));
  await tx.insert(apiKeys).values({
    id,
    organization_id: wanted.organizationId,
    name: wanted.name,
    email: wanted.email,
    secret_hash: sha256(utf8Encode(text)),
    prefix: text.slice(0, 12),
    last_four: text.slice(-4),
    scopes: [...wanted.scopes],
    created_at: createdAt,
    expires_at: wanted.expiresAt,
    attestations_per_day: wanted.attestationsPerDay ?? null,
  });
  await recordAudit(context, tx, {
    organizationId: wanted.organizationId,
    actor: wanted.actor,
    action: "api_key.created",
    subject: id,
    detail: {
      name: wanted.name,
      scopes: [...wanted.scopes],
      ...(wanted.attestationsPerDay != null && { attestations_per_day: wanted.attestationsPerDay }),
    },
  });
  return { id, text, createdAt, defaultVisibility: await readVisibility(tx, wanted.organizationId) };
}

/** Default visibility of what the key attests. */
async function readVisibility(tx: Executor, organizationId: string): Promise<Visibility> {
  const [row] = await tx
    .select({ isPublic: organizations.default_public })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return row?.isPublic === true ? "public" : "private";
}

function attestationsPerMinute({ settings }: AccountsContext): number {
  return Math.min(settings.LIMIT_ATTEST_PER_MINUTE, settings.LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE);
}

export async function describeApiKey(context: AccountsContext, principal: KeyPrincipal) {
  const [row] = await context.database.db.select().from(apiKeys).where(eq(apiKeys.id, principal.keyId));
  if (!row) throw keyLookUpFailed();
  const day = await readDay(context, principal, row.attestations_per_day);
  return {
    key_id: row.id,
    name: row.name,
    email: row.email,
    prefix: row.prefix,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    scopes: row.scopes as Scope[],
    attestations_today: day.used,
    rate_limit: { per_minute: attestationsPerMinute(context), per_day: shownDailyLimit(day.limit) },
  };
}

export function utcDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** Value of `Retry-After` for what is counted by UTC day. */
export function secondsToMidnight(now: Date): string {
  const midnightMs = Date.parse(`${utcDay(now)}T00:00:00.000Z`) + dayMs;
  return String(Math.max(1, Math.ceil((midnightMs - now.getTime()) / 1000)));
}

async function readDay(
  { clock, database: { db } }: AccountsContext,
  { keyId, organizationId, attestationsPerDay }: KeyPrincipal,
  ownLimit: number | null,
): Promise<{ used: number; limit: number }> {
  const day = utcDay(clock());
  const [all] = await db
    .select({ used: dailyUsage.attestations })
    .from(dailyUsage)
    .where(and(eq(dailyUsage.organization_id, organizationId), eq(dailyUsage.day, day)));
  const ofAll = { used: all?.used ?? 0, limit: attestationsPerDay };
  if (ownLimit === null) return ofAll;
  const [own] = await db
    .select({ used: dailyKeyUsage.attestations })
    .from(dailyKeyUsage)
    .where(and(eq(dailyKeyUsage.api_key_id, keyId), eq(dailyKeyUsage.day, day)));
  const ofKey = { used: own?.used ?? 0, limit: ownLimit };
  return ofKey.limit - ofKey.used < ofAll.limit - ofAll.used ? ofKey : ofAll;
}

export async function revokeApiKey(
  context: AccountsContext,
  principal: Principal,
  keyId: string,
): Promise<boolean> {
  const { organizationId } = principal;
  return context.database.db.transaction(async (tx) => {
    if (principal.kind === "user") await holdRole(tx, principal, "operate");
    const revoked = await tx
      .update(apiKeys)
      .set({ revoked_at: context.clock() })
      .where(
        and(eq(apiKeys.id, keyId), eq(apiKeys.organization_id, organizationId), isNull(apiKeys.revoked_at)),
      )
      .returning({ id: apiKeys.id });
    if (revoked.length === 0) return false;
    await recordAct(context, tx, principal, { action: "api_key.revoked", subject: keyId });
    return true;
  });
}

/* Test keys: those whose text begins with `cs_test_`. What they make is shown as a test. */

export const isTestKey: SQL<boolean> = sql<boolean>`starts_with(${apiKeys.prefix}, ${testPrefix})`;

/* Keys as the portal manages them: made with chosen permissions, rotated with an overlap, revoked. */

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

interface KeyWish {
  name: string;
  scopes: readonly Scope[];
  /** Null: it does not expire. */
  lifetimeDays: number | null;
  /** Attestations per UTC day; without it: as many as the organization can. Only owners set one. */
  perDay?: number | null;
}

/** Acts that ask for a passkey, of keys with these scopes: whoever has the key is asked for none. */
const guarded = [
  ["erase", "erase"],
  ["rules", "rules"],
  ["freeze", "freeze"],
  ["scim", "members"],
] as const;

/** A key with one of the owners' permissions is theirs to make, and its text theirs to see. The role holds until the commit. */
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

/** Applies from the next attestation on, in every process: what was recorded today counts. Null takes the limit away. */
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
    await recordAct(context, tx, person, {
      action: "api_key.limited",
      subject: keyId,
      detail: { attestations_per_day: perDay },
    });
  });
}

/**
 * A new key with the old one's name, scopes, expiry and limit, of which nothing is used. The old one works until the overlap
 * is over (or until its own expiry, if that is sooner); without an overlap it is refused at once.
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
    // Ended before the new key is made: one that replaces it at once needs no room beside it.
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
    await recordAct(context, tx, person, {
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
