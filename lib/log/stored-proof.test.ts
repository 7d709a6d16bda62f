/** A proof costs the same however many tiles the log has, on a connection that was opened when it had none. */
import { expect, it } from "vitest";
import { openDatabase } from "#lib/db/client";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { selectTiles } from "./stored-proof";

it.skipIf(!databaseKinds.includes("postgres"))(
  "reads the tiles of the proof, and not all of their level, if the table was empty when it was planned",
  async () => {
    const made = await createTestDatabase();
    const database = await openDatabase({ databaseUrl: made.url, dataDir: null });
    const tiles = selectTiles("h.id", "h.size - 1", "h.size");
    const explain = database.statement<Record<string, string>>(
      `EXPLAIN SELECT proof.tiles FROM logs h CROSS JOIN LATERAL (${tiles}) AS proof`,
    );
    const lines = (await explain()).map((row) => Object.values(row).join());
    const conditions = lines.filter(
      (line, i) => line.includes("Index Cond") && lines[i - 1]?.includes("log_tiles"),
    );
    expect(conditions).toHaveLength(2);
    for (const condition of conditions) expect(condition).toContain("tile_index = ");
    await database.close();
    await made.drop();
  },
);
