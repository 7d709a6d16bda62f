/** API keys: made, described and revoked. Stored as SHA-256; `key-principals.ts` looks them up. */

import { crc32 } from "node:zlib";
import { and, count, eq, gt, isNull, or, type SQL, sql } from "drizzle-orm";
import {
  type Actor,
  type KeyPrincipal,
  type Principal,
  type ServiceSettings,
  toActor,
} from "#lib/api/http/context";
import type { Scope, Visibility } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys, dailyKeyUsage, dailyUsage, organizations } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { sha256, utf8Encode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { holdRole } from "#lib/services/accounts/members";
import { lockOrganization } from "#lib/services/accounts/organizations";

/* Attestations of an organization per UTC day: its own limit, or the service's, or none. */

/** No limit, as the database has it: its largest integer, which no day reaches. */
const NO_DAILY_LIMIT = 2_147_483_647;

type DailySettings = Pick<ServiceSettings, "LIMIT_ATTEST_PER_DAY">;

export const serviceDailyLimit = ({ LIMIT_ATTEST_PER_DAY }: DailySettings): number =>
  LIMIT_ATTEST_PER_DAY ?? NO_DAILY_LIMIT;

/** As answers have it, so that a client's arithmetic goes on. */
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
  /** Its own limit, if it has one. */
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

/** Who can read what the key attests, if a request doesn't say. */
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

/** For `Retry-After` of what is counted by UTC day. */
export function secondsToMidnight(now: Date): string {
  const midnightMs = Date.parse(`${utcDay(now)}T00:00:00.000Z`) + 86_400_000;
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
    const actor = toActor(principal);
    await recordAudit(context, tx, { organizationId, actor, action: "api_key.revoked", subject: keyId });
    return true;
  });
}

/* Which keys are test keys: those whose text begins with `cs_test_`. What they make is shown as a test. */

export const isTestKey: SQL<boolean> = sql<boolean>`starts_with(${apiKeys.prefix}, ${testPrefix})`;
