/** Bearer keys. A missing one gets one answer; unknown, malformed, expired and deleted ones all get the other. */

import { and, arrayContains, desc, eq, isNull, lt, or } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import type {
  KeyPrincipal,
  KnownKey,
  MemberPrincipal,
  Principal,
  UserPrincipal,
} from "#lib/api/http/context";
import { limitExceeded } from "#lib/api/http/pipeline";
import type { HttpRequest } from "#lib/api/http/problem";
import type { LimitPolicy, LimitState, RateLimiter } from "#lib/api/http/rate-limit";
import type { Auth } from "#lib/api/operations/operation";
import type { Scope } from "#lib/api/schemas/key-choices";
import type { Executor } from "#lib/db/client";
import { apiKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { createTimedCache } from "#lib/jobs/bounded-memo";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { AccountsContext } from "#lib/services/accounts/context";
import { type Act, holdRole, requireRole } from "#lib/services/accounts/members";
import {
  invalidApiKey,
  isApiKeyText,
  isLiveKey,
  keyLookUpFailed,
  serviceDailyLimit,
  testPrefix,
} from "./api-keys";

/*
 * Callers as they were a moment ago, for operations that store nothing unless the caller is still the same
 * (`rechecksCaller` in lib/api/operations/operation.ts). Everyone else's key is looked up at each request.
 */

export interface Callers {
  recall(text: string): KeyPrincipal | null;
  remember(text: string, principal: KeyPrincipal): void;
  /** Forgets a key by its id: something about it or its organization has changed. */
  forget(keyId: string): void;
  /** A key that no longer works: whose it was, for the request log alone. */
  recallDead(text: string): KnownKey | null;
  rememberDead(text: string, key: KnownKey): void;
}

/** Less than the minute after which a key's last use is written down again. */
const lifetimeMs = 20_000;
/** Longer than the minute in which a key that was missed is not looked up again. */
const deadLifetimeMs = 120_000;

/** Keyed by hash: this is no second place that holds keys. */
const hashKey = (text: string) => hexEncode(sha256(utf8Encode(text)));

export function createCallers(clock: () => Date): Callers {
  const principals = createTimedCache<KeyPrincipal>(clock, lifetimeMs);
  const dead = createTimedCache<KnownKey>(clock, deadLifetimeMs);
  const changed = createTimedCache<true>(clock, lifetimeMs);
  return {
    recall: (text) => {
      const principal = principals.get(hashKey(text));
      return principal !== undefined && !changed.has(principal.keyId) ? principal : null;
    },
    remember: (text, principal) => {
      changed.delete(principal.keyId);
      principals.set(hashKey(text), principal);
    },
    forget: (keyId) => void changed.set(keyId, true),
    recallDead: (text) => dead.get(hashKey(text)) ?? null,
    rememberDead: (text, key) => void dead.set(hashKey(text), key),
  };
}

/* Authenticates by key: every request behind one looks it up, and at most once a minute notes that it was used. */

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

/** Selects the key of a request. `isLive` has the conditions of {@link isLiveKey}. */
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
 * the caller has counted it.
 */
async function findKeyPrincipal(
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

/** Reads the key and its organization as they are now; null if the key has ended. */
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

/** Writes at most once a minute and key. */
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

/** The person acts as one of the organization's keys, which every member may make and use. */
export async function actAsKey(
  context: AccountsContext,
  person: MemberPrincipal,
  scope: Scope,
): Promise<KeyPrincipal> {
  await requireRole(context.database.db, person, "operate");
  const caller = await findOwnKey(context, person.organizationId, scope, person.ip ?? "");
  if (caller !== null) return { ...caller, person };
  throw new AppError("forbidden", `create a key with the permission “${scope}” first`);
}

/*
 * Unknown API keys. A key's checksum is public, so anyone can make well-formed keys without end, and each would
 * cost the database a look-up: the misses of each client are counted, and when its limit is reached it waits.
 *
 * A client with a valid key that shares the address must not wait with it:
 * - A key that was found before is looked up at once, whatever the count. It is remembered as "worth a look-up" and
 *   nothing else: the database still answers each time, so a revoked key is refused at the next request. That miss is no
 *   guess and not counted: it gets the 401 that says to change the key, where a 429 would say to send it again. A key can be
 *   missed so once, and who holds it knows that it worked.
 * - A key that was missed a moment ago is not looked up or counted again: keys are drawn at random and a dead one never
 *   comes back, so a client that keeps using a revoked key costs nothing and uses up no count.
 * All others pass a gate, a few at a time: a thousand at once would be looked up before the first miss is counted, and
 * a flood from a thousand addresses would leave the database no connection for the keys that are known. What remains: a
 * key that this process has never found waits while strangers use up its address's count.
 */

/** Look-ups of keys that were never found, at a time. */
const gateWidth = 4;
const maxRemembered = 20_000;
const missLifetimeMs = 60_000;

export interface InvalidKeyThrottle {
  /** `lookUp` answers null for an unknown key; the refusal comes instead of it, or of its null. */
  find<Found>(
    text: string,
    client: string,
    lookUp: () => Promise<Found | null>,
  ): Promise<{ found: Found | null; refusal: AppError | null }>;
}

/** Resolves to the function that lets the next one in. */
function createGate(): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async () => {
    if (running < gateWidth) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return leave;
  };
}

export function createInvalidKeyThrottle(
  limiter: RateLimiter,
  policy: LimitPolicy,
  clock: () => Date,
): InvalidKeyThrottle {
  /** Keyed by hash: this is no second place that holds keys. */
  const found = new LRUCache<string, true>({ max: maxRemembered });
  const missed = createTimedCache<true>(clock, missLifetimeMs);
  const enter = createGate();
  const refuse = (state: LimitState) => limitExceeded(policy, state, clock().getTime());

  async function ask<Found>(name: string, client: string, lookUp: () => Promise<Found | null>) {
    const answer = await lookUp();
    if (answer !== null) {
      found.set(name, true);
      return { found: answer, refusal: null };
    }
    missed.set(name, true);
    if (found.delete(name)) return { found: null, refusal: null };
    const state = await limiter.consume(policy, client);
    return { found: null, refusal: state.allowed ? null : refuse(state) };
  }

  return {
    find: async (text, client, lookUp) => {
      const name = hexEncode(sha256(utf8Encode(text)));
      if (found.get(name)) return ask(name, client, lookUp);
      const leave = await enter();
      try {
        if (missed.has(name)) return { found: null, refusal: null };
        const spent = limiter.spent(policy, client);
        return spent === null ? await ask(name, client, lookUp) : { found: null, refusal: refuse(spent) };
      } finally {
        leave();
      }
    },
  };
}

/** Null if the header carries no bearer key at all; whatever it carries as one is looked up. */
function bearerKey(request: Pick<HttpRequest, "headers">): string | null {
  const [, text] = /^Bearer +(\S.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return text ?? null;
}

type AuthContext = AccountsContext & { invalidKeyThrottle: InvalidKeyThrottle; callers: Callers };

/** Null for unknown, malformed, expired and deleted keys alike; throws 429 if the client sent too many of them. */
async function findKey(
  context: AuthContext,
  text: string,
  ip: string,
  note: (key: KnownKey) => void,
): Promise<KeyPrincipal | null> {
  if (!isApiKeyText(text)) return null;
  const lookUp = () =>
    findKeyPrincipal(context, text, ip, (dead) => context.callers.rememberDead(text, dead));
  const { found, refusal } = await context.invalidKeyThrottle.find(text, ip, lookUp);
  const known = found ?? context.callers.recallDead(text);
  if (known !== null) note(known);
  if (found !== null) context.callers.remember(text, found);
  if (refusal !== null) throw refusal;
  return found;
}

const hasAnyScope = ({ scopes: own }: KeyPrincipal, scopes: readonly Scope[]) =>
  scopes.some((scope) => own.includes(scope));

/** Like {@link authenticate}, from memory alone; null if that needs the database. */
export function authenticateFromCache(
  { callers }: AuthContext,
  auth: Auth,
  request: Pick<HttpRequest, "headers">,
  ip: string,
): KeyPrincipal | null {
  if (auth.kind !== "key" || auth.scopes.length === 0) return null;
  const text = bearerKey(request);
  const known = text === null ? null : callers.recall(text);
  return known !== null && hasAnyScope(known, auth.scopes) ? { ...known, ip } : null;
}

/** Null if no key is needed. A bearer header on a public route does no harm: it is not even looked at. */
export async function authenticate(
  context: AuthContext,
  auth: Auth,
  request: Pick<HttpRequest, "headers">,
  ip: string,
  note: (key: KnownKey) => void,
): Promise<KeyPrincipal | null> {
  if (auth.kind === "none") return null;
  const text = bearerKey(request);
  const principal = text === null ? null : await findKey(context, text, ip, note);
  if (auth.kind === "optional")
    return principal !== null && hasAnyScope(principal, auth.scopes) ? principal : null;
  if (text === null) {
    throw new AppError("missing_authorization", "send your API key as `Authorization: Bearer cs_…`");
  }
  if (principal === null) throw invalidApiKey();
  if (auth.scopes.length > 0 && !hasAnyScope(principal, auth.scopes)) {
    const names = auth.scopes.join(" or ");
    throw new AppError("insufficient_scope", `this requires an API key with the permission ${names}`);
  }
  return principal;
}

/* Rechecks the caller where the act is stored: a request may wait for seconds behind others. */

/**
 * Throws if the caller was removed, or the key revoked, since the request came. A person's role holds until the commit; a
 * key is judged as for an attestation, without a lock. Comes before any other lock but the organization's. `act`: of a
 * person; `scope`: of a key, if only some keys may.
 */
export async function lockAndRecheckKey(
  tx: Executor,
  principal: Principal,
  act: Act,
  scope?: Scope,
): Promise<void> {
  const { organizationId } = principal;
  const person: UserPrincipal | undefined = principal.kind === "user" ? principal : principal.person;
  if (person !== undefined) await holdRole(tx, { ...person, organizationId }, act);
  if (principal.kind === "user") return;
  const [key] = await tx
    .select({ scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, principal.keyId), isLiveKey));
  if (!key) throw invalidApiKey();
  if (scope !== undefined && !key.scopes.includes(scope))
    throw new AppError("insufficient_scope", `this key no longer has the permission ${scope}`);
}
