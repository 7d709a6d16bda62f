/**
 * A reservation of an idempotency key lasts for seconds, and the process that works on it renews it. So a process that was
 * killed holds no client up for longer, and no other process has to find out that it is dead.
 */
import { sql } from "drizzle-orm";
import { arrayLiteral } from "#lib/db/array-literal";
import type { Database } from "#lib/db/client";
import { idempotencyKeys } from "#lib/db/schema";
import type { Logger } from "#lib/logger";

/** A reservation that the work completes or gives back. */
export interface IdempotencyHold {
  organizationId: string;
  route: string;
  key: string;
  holder: string;
}

export const leaseSeconds = 6;
const renewMs = 2_000;

export interface IdempotencyLeases {
  /** From now on it is renewed, until the returned function is called. */
  keep(hold: IdempotencyHold): () => void;
  close(): void;
}

/** One whose work commits just now is locked, and a request that wants its key waits for that. */
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

  /** Most work is done before its first renewal. */
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
