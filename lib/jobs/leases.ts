/** Whose turn it is to ask somebody outside: one process at a time, and not more often than agreed. */
import { eq, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { outsideTurns } from "#lib/db/schema";

const inSeconds = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;

/** True for one caller alone; the next one's turn is `seconds` later, or when {@link endTurn} says. */
export async function takeTurn(executor: Executor, name: string, seconds: number): Promise<boolean> {
  const taken = await executor
    .insert(outsideTurns)
    .values({ name, next_at: inSeconds(seconds) })
    .onConflictDoUpdate({
      target: outsideTurns.name,
      set: { next_at: inSeconds(seconds) },
      setWhere: sql`${outsideTurns.next_at} <= now()`,
    })
    .returning({ name: outsideTurns.name });
  return taken.length > 0;
}

const firstPauseSeconds = 60;
const longestPauseSeconds = 3_600;

/** After a failure the next turn comes later each time, up to an hour. */
export async function endTurn(executor: Executor, name: string, isDone: boolean): Promise<void> {
  const pause = sql`least(${longestPauseSeconds}, ${firstPauseSeconds} * 2 ^ least(${outsideTurns.failures}, 16))`;
  await executor
    .update(outsideTurns)
    .set(
      isDone
        ? { failures: 0, next_at: sql`now()` }
        : {
            failures: sql`${outsideTurns.failures} + 1`,
            next_at: sql`now() + make_interval(secs => ${pause})`,
          },
    )
    .where(eq(outsideTurns.name, name));
}
