/**
 * Idempotency-Key (docs/wire.md, Idempotency). A row is reserved before the work, and the answer is written into it
 * in the work's own transaction: a crash between commit and answer replays, and a failure leaves nothing.
 */

import { and, inArray, ne, type SQL, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { idempotencyKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import type { HttpContext } from "./context";
import { isForgettable } from "./idempotency-expiry";
import { type IdempotencyHold, leaseSeconds } from "./idempotency-leases";
import {
  abandon,
  abandonedHolders,
  areReserved,
  areRows,
  type Rows,
  releaseIdempotent,
  rowsOf,
} from "./idempotency-release";

export type IdempotencyStart =
  | { kind: "replay"; status: number; response: string }
  | { kind: "held"; hold: IdempotencyHold };

const { organization_id, route: routeColumn, key: keyColumn, holder: holderColumn } = idempotencyKeys;

/** `besides`: keys that a request with another body may have under the same Idempotency-Key. */
type Wanted = Rows & { besides?: readonly string[] };

/** Reserves rows, or takes over those whose holder no longer renews them; answers the keys that it got. */
async function reserve(
  context: HttpContext,
  rows: Rows,
  holder: string,
  bodyHash: Uint8Array,
): Promise<string[]> {
  const { db } = context.database;
  await db.delete(idempotencyKeys).where(and(areRows(rows), isForgettable));
  const reservation = {
    body_hash: bodyHash,
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
        ...reservation,
        expires_at: sql`now() + interval '24 hours'`,
      })),
    )
    .onConflictDoUpdate({
      target: [organization_id, routeColumn, keyColumn],
      set: reservation,
      // The row is locked before it is judged, so a commit that is still under way is waited for.
      setWhere: sql`${idempotencyKeys.response} IS NULL AND ${isFree}`,
    })
    .returning({ key: keyColumn });
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
async function readTaken(context: HttpContext, rows: Rows, bodyHash: Uint8Array) {
  const taken = new Map<string, IdempotencyStart | "in progress">();
  for (const row of await context.database.db.select().from(idempotencyKeys).where(areRows(rows))) {
    if (row.body_hash.length === 0)
      throw new AppError("erased", "Idempotency-Key: what was stored with it has been erased");
    if (!bytesEqual(row.body_hash, bodyHash)) throw reused();
    const { status, response } = row;
    const isKept = response !== null && status !== null;
    taken.set(row.key, isKept ? { kind: "replay", status, response } : "in progress");
  }
  return taken;
}

/** Rejects another body under a key whose answer is kept or in progress. */
async function requireSameBody(context: HttpContext, rows: Rows, bodyHash: Uint8Array): Promise<void> {
  const { response, locked_until, body_hash } = idempotencyKeys;
  const isThere = sql`(${response} IS NOT NULL OR ${locked_until} >= now()) AND NOT (${isForgettable})`;
  const [other] = await context.database.db
    .select({ key: keyColumn })
    .from(idempotencyKeys)
    .where(and(areRows(rows), ne(body_hash, bodyHash), isThere))
    .limit(1);
  if (other) throw reused();
}

/** One start for each key, in their order; all of them, or none. */
export async function beginIdempotentEach(
  context: HttpContext,
  { besides = [], ...rows }: Wanted,
  body: JsonObject,
): Promise<IdempotencyStart[]> {
  const { keys, ...place } = rows;
  const holder = uuidV7(context.clock().getTime(), context.random(16));
  const bodyHash = sha256(canonicalBytes(withoutNulls(body)));
  const starts = new Map<string, IdempotencyStart>();
  const missing = () => ({ ...rows, keys: keys.filter((key) => !starts.has(key)) });
  try {
    // Between the two statements the other request may fail and give the row back; then the second round gets it.
    for (let round = 0; round < 2; round += 1) {
      for (const key of await reserve(context, missing(), holder, bodyHash))
        starts.set(key, { kind: "held", hold: { ...place, key, holder } });
      if (starts.size === keys.length) break;
      const taken = await readTaken(context, missing(), bodyHash);
      for (const [key, start] of taken) if (start !== "in progress") starts.set(key, start);
      if (starts.size === keys.length) break;
      if ([...taken.values()].includes("in progress") || round === 1) throw inProgress();
    }
    if (besides.length > 0) await requireSameBody(context, { ...rows, keys: besides }, bodyHash);
  } catch (error) {
    const held = [...starts.values()].flatMap((start) => (start.kind === "held" ? [start.hold] : []));
    await releaseIdempotent(context, held);
    throw error;
  }
  return keys.map((key) => starts.get(key) ?? never(key));
}

const inProgress = () =>
  new AppError("idempotency_conflict", "Idempotency-Key: the first request with it is still in progress");

function never(key: string): never {
  throw new Error(`no start for the idempotency key ${key}`);
}

export async function beginIdempotent(
  context: HttpContext,
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
    .where(areReserved(rowsOf([hold]), hold.holder))
    .returning({ key: keyColumn });
  if (completed.length !== 1) throw takenOver();
}

/**
 * For an erasure: forgets answers, and the hashes of what they answered, by which somebody could test a guess. The keys
 * stay for a day, so that a late retry doesn't store again what was erased.
 */
export async function eraseAnswers(tx: Executor, which: SQL): Promise<void> {
  const expires_at = sql`greatest(${idempotencyKeys.expires_at}, now() + interval '24 hours')`;
  await tx
    .update(idempotencyKeys)
    .set({ body_hash: new Uint8Array(), response: "", expires_at })
    .where(which);
}
