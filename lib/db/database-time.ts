import { sql } from "drizzle-orm";
import { type Executor, rowsOf } from "./client";

/** Database's clock, in whole milliseconds that are over. */
export async function readDatabaseTime(executor: Executor): Promise<Date> {
  const [row] = await rowsOf<{ ms: string }>(
    executor,
    sql`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS ms`,
  );
  if (!row) throw new Error("the database returned no time");
  return new Date(Number(row.ms));
}
