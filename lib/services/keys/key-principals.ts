/** Who asks with a key: every request behind one looks it up, and at most once a minute notes that it was used. */

import { and, arrayContains, desc, eq, isNull, lt, or } from "drizzle-orm";
import type { KeyPrincipal, KnownKey } from "#lib/api/http/principal";
import type { Scope } from "#lib/api/schemas/key-choices";
import { apiKeys } from "#lib/db/schema";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { AccountsContext } from "#lib/services/accounts/context";
import { testPrefix } from "./api-key-text";
import { invalidApiKey, isLiveKey, keyLookUpFailed } from "./api-keys";
import { serviceDailyLimit } from "./daily-limit";

interface FoundKey {
  keyId: string;
  organizationId: string;
  scopes: Scope[];
  lastUsedAt: Date | null;
  defaultPublic: boolean;
  perDay: number | null;
  prefix: string;
  isLive: boolean;
}

/** There is a row for every question, with nothing else in it for a key that no organization has. */
type LookedUp = { asked: string } & (FoundKey | { organizationId: null });

/** Every request behind a key asks this. `isLive` has the conditions of {@link isLiveKey}. */
const keyBy = (column: "secret_hash" | "id", asked: string) =>
  `SELECT $1::text AS asked, k.id AS "keyId", o.id AS "organizationId", k.scopes, k.prefix,
    k.last_used_at AS "lastUsedAt", o.default_public AS "defaultPublic", o.attestations_per_day AS "perDay",
    k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AS "isLive"
  FROM (VALUES (1)) AS one
  LEFT JOIN api_keys k ON k.${column} = ${asked}
  LEFT JOIN organizations o ON o.id = k.organization_id AND o.deleted_at IS NULL`;
const keyBySecret = keyBy("secret_hash", "decode($1::text, 'hex')");
const keyById = keyBy("id", "$1::text::uuid");

/**
 * Null for a key that no organization has. Only an answer to this very question says so: a valid key that is called
 * invalid is an outage that no program tries again.
 */
async function lookUp(
  { database, logger }: AccountsContext,
  text: string,
  asked: string,
): Promise<FoundKey | null> {
  const [row, ...others] = await database.batched<LookedUp>(text, ["text"])(asked);
  if (row?.asked !== asked || others.length > 0) {
    logger.error("the database answered another question than the one for a key");
    throw keyLookUpFailed();
  }
  return row.organizationId === null ? null : row;
}

function describePrincipal(context: AccountsContext, row: FoundKey, ip: string): KeyPrincipal {
  return {
    kind: "key",
    isTest: row.prefix.startsWith(testPrefix),
    keyId: row.keyId,
    organizationId: row.organizationId,
    scopes: row.scopes,
    defaultPublic: row.defaultPublic,
    attestationsPerDay: row.perDay ?? serviceDailyLimit(context.settings),
    ip,
  };
}

/**
 * Null for unknown, expired and deleted keys alike; `noteDead` is called for those that once worked. Costs a look-up:
 * the caller has counted it (unknown-keys.ts).
 */
export async function findKeyPrincipal(
  context: AccountsContext,
  text: string,
  ip: string,
  noteDead: (key: KnownKey) => void,
): Promise<KeyPrincipal | null> {
  const row = await lookUp(context, keyBySecret, hexEncode(sha256(utf8Encode(text))));
  if (row === null) return null;
  if (!row.isLive) {
    noteDead({ keyId: row.keyId, organizationId: row.organizationId });
    return null;
  }
  await touch(context, row.keyId, row.lastUsedAt, ip);
  return describePrincipal(context, row, ip);
}

/** As the key and its organization are now; null if the key has ended. */
export async function findPrincipalAgain(
  context: AccountsContext,
  { keyId, ip }: Pick<KeyPrincipal, "keyId" | "ip">,
): Promise<KeyPrincipal | null> {
  const row = await lookUp(context, keyById, keyId);
  return row?.isLive ? describePrincipal(context, row, ip) : null;
}

export async function readPrincipalAgain(context: AccountsContext, key: KeyPrincipal): Promise<KeyPrincipal> {
  const found = await findPrincipalAgain(context, key);
  if (found === null) throw invalidApiKey();
  return found;
}

/** At most one write a minute and key. */
async function touch(
  context: AccountsContext,
  keyId: string,
  lastUsedAt: Date | null,
  ip: string,
): Promise<void> {
  const now = context.clock();
  const staleBefore = new Date(now.getTime() - 60_000);
  if (lastUsedAt !== null && lastUsedAt > staleBefore) return;
  await context.database.db
    .update(apiKeys)
    .set({ last_used_at: now, last_used_ip: ip })
    .where(
      and(eq(apiKeys.id, keyId), or(isNull(apiKeys.last_used_at), lt(apiKeys.last_used_at, staleBefore))),
    );
}

/** The newest live key of the organization that may do this; null if there is none. */
export async function findOwnKey(
  context: AccountsContext,
  organizationId: string,
  scope: Scope,
  ip: string,
): Promise<KeyPrincipal | null> {
  const [key] = await context.database.db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(
      and(eq(apiKeys.organization_id, organizationId), isLiveKey, arrayContains(apiKeys.scopes, [scope])),
    )
    .orderBy(desc(apiKeys.id))
    .limit(1);
  return key ? findPrincipalAgain(context, { keyId: key.id, ip }) : null;
}
