/**
 * Idempotency-Key (docs/wire.md, Idempotency). A row is reserved before the work, and the answer is written into it
 * in the work's own transaction: a crash between commit and answer replays, and a failure leaves nothing.
 */
import { and, eq, inArray, isNull, ne, type SQL, sql } from "drizzle-orm";
import { arrayLiteral, type Database, type Executor } from "#lib/db/client";
import { idempotencyKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Logger } from "#lib/logger";
import { bytesEqual, sha256, uuidV7 } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";

/* Time for which the answer to a request with an Idempotency-Key is kept (docs/wire.md, Idempotency). */

/**
 * An answer may be forgotten when its time is over. The answer to POST /v1/authorize is kept as long as its approval can be
 * used, for a day after its use, and as long as a standing approval lasts: a repeat in that time gets the same request, not
 * a second human. Nobody forgets it if the approval was taken back, or if a run has claimed it and nothing was attested:
 * nobody knows how far that run came, and a second request could be approved and run again.
 */
export const isForgettable = sql`${idempotencyKeys.expires_at} < now() AND NOT EXISTS (
  SELECT FROM authorization_requests AS asked LEFT JOIN attestations AS used ON used.id = asked.attestation_id
  WHERE asked.id = ${idempotencyKeys.authorization_id}
    AND (coalesce(why_unusable(asked), 'frozen') IN ('frozen', 'code_changed')
      OR asked.revoked_at IS NOT NULL OR asked.claimed_at IS NOT NULL AND asked.attestation_id IS NULL
      OR used.created_at > now() - interval '24 hours'
      OR EXISTS (SELECT FROM grants WHERE grants.request_id = asked.id AND grants.expires_at > now())))`;

/*
 * A reservation of an idempotency key lasts for seconds, and the process that works on it renews it. So a process that was
 * killed holds no client up for longer, and no other process has to find out that it is dead.
 */

export interface IdempotencyHold {
  organizationId: string;
  route: string;
  key: string;
  holder: string;
}

export const leaseSeconds = 6;
const renewMs = 2_000;

export interface IdempotencyLeases {
  keep(hold: IdempotencyHold): () => void;
  close(): void;
}

/** Renews reservations. A row whose transaction commits just now is locked, and a request for its key waits for that. */
async function renew({ db }: Database, holds: readonly IdempotencyHold[]): Promise<void> {
  const column = (read: (hold: IdempotencyHold) => string) => arrayLiteral(holds.map(read));
  await db.execute(sql`
    UPDATE ${idempotencyKeys} AS kept SET locked_until = now() + make_interval(secs => ${leaseSeconds})
    FROM (
      SELECT own.organization_id, own.route, own.key
      FROM unnest(${column((hold) => hold.organizationId)}::uuid[], ${column((hold) => hold.route)}::text[],
        ${column((hold) => hold.key)}::text[], ${column((hold) => hold.holder)}::uuid[])
        AS given(organization_id, route, key, holder)
      JOIN ${idempotencyKeys} AS own USING (organization_id, route, key)
      WHERE own.holder = given.holder AND own.response IS NULL FOR UPDATE OF own SKIP LOCKED
    ) AS own
    WHERE kept.organization_id = own.organization_id AND kept.route = own.route AND kept.key = own.key`);
}

export function createIdempotencyLeases(database: Database, logger: Logger): IdempotencyLeases {
  const held = new Set<IdempotencyHold>();
  let isRenewing = false;

  async function renewAll(): Promise<void> {
    if (held.size === 0 || isRenewing) return;
    isRenewing = true;
    try {
      await renew(database, [...held]);
    } catch (error) {
      logger.debug({ err: error }, "idempotency keys could not be renewed");
    } finally {
      isRenewing = false;
    }
  }
  const timer = setInterval(() => void renewAll(), renewMs).unref();

  return {
    keep: (hold) => {
      held.add(hold);
      return () => held.delete(hold);
    },
    close: () => clearInterval(timer),
  };
}

/* Reservations whose work has failed are given back, so that the next request with the key gets it at once. */

/** The keys of one request: as many as it has entries. */
export type Rows = Omit<IdempotencyHold, "key" | "holder"> & { keys: readonly string[] };

const { organization_id, route: routeColumn, key: keyColumn, holder: holderColumn } = idempotencyKeys;

const areRows = ({ organizationId, route, keys }: Rows) =>
  and(eq(organization_id, organizationId), eq(routeColumn, route), inArray(keyColumn, [...keys]));

const areReserved = (rows: Rows, holder: string) => and(areRows(rows), eq(holderColumn, holder));

function groupHolds(holds: readonly [IdempotencyHold, ...IdempotencyHold[]]): Rows {
  const [{ organizationId, route }] = holds;
  return { organizationId, route, keys: holds.map(({ key }) => key) };
}

/**
 * Keyed by holder: reservations that this process could not release because the database was out of reach, and those whose
 * answer it never heard. They block no request to this process: the next one takes over, or finds the answer of a commit that
 * succeeded.
 */
const abandoned = new Map<string, Rows>();

function abandonedHolders({ organizationId, route, keys }: Rows): string[] {
  const isAmong = (rows: Rows) =>
    rows.organizationId === organizationId &&
    rows.route === route &&
    rows.keys.some((key) => keys.includes(key));
  return [...abandoned].filter(([, rows]) => isAmong(rows)).map(([holder]) => holder);
}

interface Context {
  database: Database;
  logger: Logger;
  clock: () => Date;
  random: (length: number) => Uint8Array;
}

async function giveBack({ database }: Context, rows: Rows, holder: string): Promise<void> {
  const isUnused = and(areReserved(rows, holder), isNull(idempotencyKeys.response));
  await database.db.delete(idempotencyKeys).where(isUnused);
}

const retryMs = 1_000;

/** Gives them back later: what is still on its way into the database is there by then, or its lease has lapsed. */
function abandon(context: Context, rows: Rows, holder: string): void {
  abandoned.set(holder, rows);
  const stop = () => {
    clearInterval(timer);
    abandoned.delete(holder);
  };
  const timer = setInterval(() => void giveBack(context, rows, holder).then(stop, () => {}), retryMs).unref();
  setTimeout(stop, leaseSeconds * 1000).unref();
}

/**
 * Releases one request's holds, whose failures are not kept. Never rejects: a hold that can't be released now is tried
 * again until it lapses.
 */
export async function releaseIdempotent(
  context: Context,
  [first, ...others]: readonly IdempotencyHold[],
): Promise<void> {
  if (first === undefined) return;
  const rows = groupHolds([first, ...others]);
  try {
    await giveBack(context, rows, first.holder);
  } catch (error) {
    context.logger.warn({ err: error }, "an idempotency key could not be given back; it is tried again");
    abandon(context, rows, first.holder);
  }
}

export type IdempotencyStart =
  | { kind: "replay"; status: number; response: string }
  | { kind: "held"; hold: IdempotencyHold };

/** Where each key has a body of its own, a single one can be refused because of the stored one. */
export type IdempotencyEntryStart = IdempotencyStart | { kind: "refused"; error: AppError };

/** `besides`: keys that a request with another body may have under the same Idempotency-Key. */
type Wanted = Rows & { besides?: readonly string[]; days?: number };

/** Keyed by idempotency key. */
type Hashes = ReadonlyMap<string, Uint8Array>;

/**
 * Reserves rows, or takes over those that are forgotten or whose holder no longer renews them; answers the keys that it got.
 * The commit doesn't wait for the disk: a crash that loses a reservation ends its request, whose own commit comes after it.
 */
async function reserve(
  context: Context,
  { days = 1, ...rows }: Wanted,
  holder: string,
  hashes: Hashes,
): Promise<string[]> {
  const { db } = context.database;
  const reservation = {
    holder,
    locked_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
  };
  const dead = abandonedHolders(rows);
  const isOver = sql`${idempotencyKeys.locked_until} < now()`;
  const isFree = dead.length === 0 ? isOver : sql`(${isOver} OR ${inArray(holderColumn, dead)})`;
  const reserving = db
    .insert(idempotencyKeys)
    .values(
      rows.keys.map((key) => ({
        organization_id: rows.organizationId,
        route: rows.route,
        key,
        body_hash: hashes.get(key) ?? never(key),
        ...reservation,
        expires_at: sql`now() + make_interval(days => ${days})`,
      })),
    )
    .onConflictDoUpdate({
      target: [organization_id, routeColumn, keyColumn],
      set: {
        ...reservation,
        ...{ status: null, response: null, attestation_id: null, authorization_id: null },
        body_hash: sql`excluded.body_hash`,
        created_at: sql`excluded.created_at`,
        expires_at: sql`excluded.expires_at`,
      },
      // The row is locked before it is judged, so a commit that is still under way is waited for.
      setWhere: sql`${idempotencyKeys.response} IS NULL AND ${isFree} OR ${isForgettable}`,
    })
    .returning({ key: keyColumn, commit: sql`set_config('synchronous_commit', 'off', true)` });
  try {
    return (await reserving).map(({ key }) => key);
  } catch (error) {
    // The rows may be there: it was the answer that got lost.
    abandon(context, rows, holder);
    throw error;
  }
}

/** Recorded or compared as they are sent, with their nulls. */
const verbatim = ["metadata", "human_authorization"];

/** Any other field that is null is one left out, in every request that takes a key. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    given.map(([name, member]) => [name, verbatim.includes(name) ? member : withoutNulls(member)]),
  );
}

const reused = () =>
  new AppError("idempotency_key_reused", "Idempotency-Key: was already used with another body");

/** Reads the rows of keys that somebody else has; a missing row was released. */
async function readTaken(context: Context, rows: Rows, hashes: Hashes) {
  const taken = new Map<string, IdempotencyEntryStart | "in progress">();
  for (const row of await context.database.db.select().from(idempotencyKeys).where(areRows(rows))) {
    const { key, status, response, body_hash } = row;
    const isKept = response !== null && status !== null;
    if (body_hash.length === 0)
      taken.set(key, {
        kind: "refused",
        error: new AppError("erased", "Idempotency-Key: what was stored with it has been erased"),
      });
    else if (!bytesEqual(body_hash, hashes.get(key) ?? never(key)))
      taken.set(key, { kind: "refused", error: reused() });
    else taken.set(key, isKept ? { kind: "replay", status, response } : "in progress");
  }
  return taken;
}

async function requireSameBody(context: Context, rows: Rows, bodyHash: Uint8Array): Promise<void> {
  const { response, locked_until, body_hash } = idempotencyKeys;
  const isThere = sql`(${response} IS NOT NULL OR ${locked_until} >= now()) AND NOT (${isForgettable})`;
  const [other] = await context.database.db
    .select({ key: keyColumn })
    .from(idempotencyKeys)
    .where(and(areRows(rows), ne(body_hash, bodyHash), isThere))
    .limit(1);
  if (other) throw reused();
}

const hashBody = (body: JsonObject) => sha256(canonicalBytes(withoutNulls(body)));

/** Begins one request for each key, in order: all of them, or none. */
export async function beginIdempotentEach(
  context: Context,
  rows: Wanted,
  body: JsonObject,
): Promise<IdempotencyStart[]> {
  const bodyHash = hashBody(body);
  const hashes = new Map(rows.keys.map((key) => [key, bodyHash]));
  const starts = await begin(context, rows, hashes, (start) => {
    if (start.kind === "refused") throw start.error;
    return start;
  });
  const { besides = [] } = rows;
  if (besides.length === 0) return starts;
  try {
    await requireSameBody(context, { ...rows, keys: besides }, bodyHash);
  } catch (error) {
    await releaseIdempotent(context, listHolds(starts));
    throw error;
  }
  return starts;
}

/** Begins entries that have a name and a body each: the first under a key is kept, for that many days. */
export function beginIdempotentEntries(
  context: Context,
  { bodies, ...place }: Omit<Rows, "keys"> & { bodies: ReadonlyMap<string, JsonObject>; days: number },
): Promise<IdempotencyEntryStart[]> {
  const hashes = new Map([...bodies].map(([key, body]) => [key, hashBody(body)]));
  return begin(context, { ...place, keys: [...bodies.keys()] }, hashes, (start) => start);
}

export const listHolds = (starts: readonly IdempotencyEntryStart[]): IdempotencyHold[] =>
  starts.flatMap((start) => (start.kind === "held" ? [start.hold] : []));

async function begin<Start extends IdempotencyEntryStart>(
  context: Context,
  rows: Wanted,
  hashes: Hashes,
  accept: (start: IdempotencyEntryStart) => Start,
): Promise<Start[]> {
  const { organizationId, route, keys } = rows;
  const holder = uuidV7(context.clock().getTime(), context.random(16));
  const starts = new Map<string, IdempotencyEntryStart>();
  const missing = () => ({ ...rows, keys: keys.filter((key) => !starts.has(key)) });
  try {
    // Between the two statements the other request may fail and give the row back; then the second round gets it.
    for (let round = 0; round < 2; round += 1) {
      for (const key of await reserve(context, missing(), holder, hashes))
        starts.set(key, { kind: "held", hold: { organizationId, route, key, holder } });
      if (starts.size === keys.length) break;
      const taken = await readTaken(context, missing(), hashes);
      for (const [key, start] of taken) if (start !== "in progress") starts.set(key, start);
      if (starts.size === keys.length) break;
      if ([...taken.values()].includes("in progress") || round === 1) throw inProgress();
    }
    return keys.map((key) => accept(starts.get(key) ?? never(key)));
  } catch (error) {
    await releaseIdempotent(context, listHolds([...starts.values()]));
    throw error;
  }
}

const inProgress = () =>
  new AppError("idempotency_conflict", "Idempotency-Key: the first request with it is still in progress");

function never(key: string): never {
  throw new Error(`no start for the idempotency key ${key}`);
}

export async function beginIdempotent(
  context: Context,
  organizationId: string,
  route: string,
  key: string,
  body: JsonObject,
): Promise<IdempotencyStart> {
  const [start] = await beginIdempotentEach(context, { organizationId, route, keys: [key] }, body);
  return start ?? never(key);
}

export interface IdempotentAnswer {
  status: number;
  response: string;
  authorizationId?: string;
  /** Default: 24 hours from now. */
  expiresAt?: Date;
}

export const takenOver = () =>
  new AppError("idempotency_conflict", "Idempotency-Key: another request took over");

/** Throws if the reservation was lost to a later request (its lease was not renewed). */
export async function completeIdempotent(
  tx: Executor,
  hold: IdempotencyHold,
  answer: IdempotentAnswer,
): Promise<void> {
  const completed = await tx
    .update(idempotencyKeys)
    .set({
      status: answer.status,
      response: answer.response,
      authorization_id: answer.authorizationId ?? null,
      ...(answer.expiresAt === undefined ? {} : { expires_at: answer.expiresAt }),
    })
    .where(areReserved(groupHolds([hold]), hold.holder))
    .returning({ key: keyColumn });
  if (completed.length !== 1) throw takenOver();
}

/**
 * Forgets, on an erasure, answers and the hashes of their requests, against which a guess could be tested. The keys stay for a
 * day, so that a late retry doesn't store again what was erased.
 */
export async function eraseAnswers(tx: Executor, which: SQL): Promise<void> {
  const expires_at = sql`greatest(${idempotencyKeys.expires_at}, now() + interval '24 hours')`;
  await tx
    .update(idempotencyKeys)
    .set({ body_hash: new Uint8Array(), response: "", expires_at })
    .where(which);
}
