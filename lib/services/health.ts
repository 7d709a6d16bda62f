/** Rejects where the database does not answer. */
import { sql } from "drizzle-orm";
import type { Context } from "./context";

export async function pingDatabase(context: Context): Promise<void> {
  await context.database.db.execute(sql`SELECT 1`);
}
