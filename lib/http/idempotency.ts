/**
 * Idempotency-Key (docs/wire.md, Idempotency). A row is reserved before the work, and the answer is written into it
 * in the work's own transaction: a crash between commit and answer replays, and a failure leaves nothing.
 */

import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { bytesEqual, sha256 } from "#lib/core/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/core/encoding/canonical-json";
import { uuidV7 } from "#lib/core/encoding/ids";
import type { Executor } from "#lib/db/client";
import { idempotencyKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { DoorContext } from "./context";
import { type IdempotencyHold, leaseSeconds } from "./idempotency-leases";

export type IdempotencyStart =
  | { kind: "replay"; status: number; response: string }
  | { kind: "held"; hold: IdempotencyHold };

const { organization_id, route: routeColumn, key: keyColumn, holder: holderColumn } = idempotencyKeys;

function isRow(hold: Omit<IdempotencyHold, "holder">) {
  return and(eq(organization_id, hold.organizationId), eq(routeColumn, hold.route), eq(keyColumn, hold.key));
}

/**
 * When an answer may be forgotten. The answer to POST /v1/authorize is kept as long as its approval can be used, and for
 * a day after its use: whoever asks again in that time gets the same request, not a second human.
 */
export const isForgettable = sql`${idempotencyKeys.expires_at} < now() AND NOT EXISTS (
  SELECT FROM authorization_requests AS asked LEFT JOIN attestations AS used ON used.id = asked.attestation_id
  WHERE asked.id = ${idempotencyKeys.authorization_id}
    AND (is_usable(asked) OR used.created_at > now() - interval '24 hours'))`;

/**
 * This process's reservations whose work has failed and that could not be given back, because the database was out of
 * reach. They hold nobody up who asks this process: it takes over, or finds the answer of a commit that succeeded.
 */
const abandoned = new Map<string, IdempotencyHold>();

function abandonedHolders({ organizationId, route, key }: IdempotencyHold): string[] {
  return [...abandoned.values()]
    .filter((one) => one.organizationId === organizationId && one.route === route && one.key === key)
    .map(({ holder }) => holder);
}

/** Reserves the row, or takes over one whose holder no longer renews it; false if somebody else has it. */
async function reserve(context: DoorContext, hold: IdempotencyHold, bodyHash: Uint8Array): Promise<boolean> {
  const { db } = context.database;
  await db.delete(idempotencyKeys).where(and(isRow(hold), isForgettable));
  const reservation = {
    body_hash: bodyHash,
    holder: hold.holder,
    locked_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
  };
  const dead = abandonedHolders(hold);
  const isOver = sql`${idempotencyKeys.locked_until} < now()`;
  const isFree = dead.length === 0 ? isOver : sql`(${isOver} OR ${inArray(holderColumn, dead)})`;
  const reserved = await db
    .insert(idempotencyKeys)
    .values({
      organization_id: hold.organizationId,
      route: hold.route,
      key: hold.key,
      ...reservation,
      expires_at: sql`now() + interval '24 hours'`,
    })
    .onConflictDoUpdate({
      target: [organization_id, routeColumn, keyColumn],
      set: reservation,
      // The row is locked before it is judged, so a commit that is still under way is waited for.
      setWhere: sql`${idempotencyKeys.response} IS NULL AND ${isFree}`,
    })
    .returning({ holder: idempotencyKeys.holder });
  return reserved.length === 1;
}

/** A field that is null is one left out, in every request that takes a key. */
function withoutNulls(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

export async function beginIdempotent(
  context: DoorContext,
  organizationId: string,
  route: string,
  key: string,
  body: JsonObject,
): Promise<IdempotencyStart> {
  const hold = { organizationId, route, key, holder: uuidV7(context.clock().getTime(), context.random(16)) };
  const bodyHash = sha256(canonicalBytes(withoutNulls(body)));
  // Between the two statements the other request may fail and give the row back; then the second round gets it.
  for (let round = 0; round < 2; round += 1) {
    if (await reserve(context, hold, bodyHash)) return { kind: "held", hold };
    const [row] = await context.database.db.select().from(idempotencyKeys).where(isRow(hold));
    if (!row) continue;
    if (row.body_hash.length === 0)
      throw new AppError("erased", "Idempotency-Key: what was stored with it has been erased");
    if (!bytesEqual(row.body_hash, bodyHash)) {
      throw new AppError("idempotency_key_reused", "Idempotency-Key: was already used with another body");
    }
    if (row.response !== null && row.status !== null)
      return { kind: "replay", status: row.status, response: row.response };
    break;
  }
  throw new AppError(
    "idempotency_conflict",
    "Idempotency-Key: the first request with it is still in progress",
  );
}

export interface IdempotentAnswer {
  status: number;
  response: string;
  authorizationId?: string;
  /** Default: 24 hours from now. */
  expiresAt?: Date;
}

/** The row, while it is this holder's. */
export const isReserved = (hold: IdempotencyHold) => and(isRow(hold), eq(holderColumn, hold.holder));

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
    .where(isReserved(hold))
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

/** Failures are not kept. Never rejects: what cannot be given back now lapses. */
export async function releaseIdempotent(context: DoorContext, hold: IdempotencyHold): Promise<void> {
  try {
    await context.database.db
      .delete(idempotencyKeys)
      .where(and(isReserved(hold), isNull(idempotencyKeys.response)));
  } catch (error) {
    context.logger.warn({ err: error }, "an idempotency key could not be given back, and lapses");
    abandoned.set(hold.holder, hold);
    // By then it is free for everybody.
    setTimeout(() => abandoned.delete(hold.holder), leaseSeconds * 1000).unref();
  }
}
