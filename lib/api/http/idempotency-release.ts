/** Reservations whose work has failed are given back, so that the next request with the key gets it at once. */
import { and, eq, inArray, isNull } from "drizzle-orm";
import { idempotencyKeys } from "#lib/db/schema";
import type { HttpContext } from "./context";
import { type IdempotencyHold, leaseSeconds } from "./idempotency-leases";

/** The keys of one request: as many as it has entries. */
export type Rows = Omit<IdempotencyHold, "key" | "holder"> & { keys: readonly string[] };

const { organization_id, route: routeColumn, key: keyColumn, holder: holderColumn } = idempotencyKeys;

export const areRows = ({ organizationId, route, keys }: Rows) =>
  and(eq(organization_id, organizationId), eq(routeColumn, route), inArray(keyColumn, [...keys]));

/** While they are this holder's. */
export const areReserved = (rows: Rows, holder: string) => and(areRows(rows), eq(holderColumn, holder));

export function rowsOf(holds: readonly [IdempotencyHold, ...IdempotencyHold[]]): Rows {
  const [{ organizationId, route }] = holds;
  return { organizationId, route, keys: holds.map(({ key }) => key) };
}

/**
 * By holder: this process's reservations that it could not give back, because the database was out of reach, and those
 * whose answer it never heard. They hold up no request to this process: that one takes over, or finds the answer of a commit
 * that succeeded.
 */
const abandoned = new Map<string, Rows>();

export function abandonedHolders({ organizationId, route, keys }: Rows): string[] {
  const isOneOf = (rows: Rows) =>
    rows.organizationId === organizationId &&
    rows.route === route &&
    rows.keys.some((key) => keys.includes(key));
  return [...abandoned].filter(([, rows]) => isOneOf(rows)).map(([holder]) => holder);
}

async function giveBack({ database }: HttpContext, rows: Rows, holder: string): Promise<void> {
  const isUnused = and(areReserved(rows, holder), isNull(idempotencyKeys.response));
  await database.db.delete(idempotencyKeys).where(isUnused);
}

const retryMs = 1_000;

/** Gives them back later: what is still on its way into the database is there by then, or its lease has lapsed. */
export function abandon(context: HttpContext, rows: Rows, holder: string): void {
  abandoned.set(holder, rows);
  const stop = () => {
    clearInterval(timer);
    abandoned.delete(holder);
  };
  const timer = setInterval(() => void giveBack(context, rows, holder).then(stop, () => {}), retryMs).unref();
  // By then it is free for everybody.
  setTimeout(stop, leaseSeconds * 1000).unref();
}

/**
 * Releases one request's holds, whose failures are not kept. Never rejects: a hold that can't be released now is tried
 * again until it lapses.
 */
export async function releaseIdempotent(
  context: HttpContext,
  [first, ...others]: readonly IdempotencyHold[],
): Promise<void> {
  if (first === undefined) return;
  const rows = rowsOf([first, ...others]);
  try {
    await giveBack(context, rows, first.holder);
  } catch (error) {
    context.logger.warn({ err: error }, "an idempotency key could not be given back; it is tried again");
    abandon(context, rows, first.holder);
  }
}
