/** Whose turn it is to ask somebody outside: one process at a time, and not more often than agreed. */
import { eq, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { leases } from "#lib/db/schema";

const inSeconds = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;

/** True for one caller alone; the next one's turn is `seconds` later, or when {@link releaseLease} says. */
export async function takeLease(executor: Executor, name: string, seconds: number): Promise<boolean> {
  const taken = await executor
    .insert(leases)
    .values({ name, next_at: inSeconds(seconds) })
    .onConflictDoUpdate({
      target: leases.name,
      set: { next_at: inSeconds(seconds) },
      setWhere: sql`${leases.next_at} <= now()`,
    })
    .returning({ name: leases.name });
  return taken.length > 0;
}

const firstPauseSeconds = 60;
const longestPauseSeconds = 3_600;

/** After a failure the next turn comes later each time, up to an hour. */
export async function releaseLease(executor: Executor, name: string, isDone: boolean): Promise<void> {
  const pause = sql`least(${longestPauseSeconds}, ${firstPauseSeconds} * 2 ^ least(${leases.failures}, 16))`;
  await executor
    .update(leases)
    .set(
      isDone
        ? { failures: 0, next_at: sql`now()` }
        : {
            failures: sql`${leases.failures} + 1`,
            next_at: sql`now() + make_interval(secs => ${pause})`,
          },
    )
    .where(eq(leases.name, name));
}

/** For work that is done again and again: the next turn comes so long after the end of this one, whose ever it is. */
export async function restFor(executor: Executor, name: string, seconds: number): Promise<void> {
  await executor
    .update(leases)
    .set({ next_at: inSeconds(seconds) })
    .where(eq(leases.name, name));
}
