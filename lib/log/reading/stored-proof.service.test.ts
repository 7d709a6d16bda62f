/**
 * Proofs are made from the stored tiles, at the edges of tiles too; and one costs the same however many tiles the log has,
 * on a connection that was opened when it had none.
 */
import { expect, it } from "vitest";
import { arrayLiteral } from "#lib/db/client";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { appendLeafHashes, emptyRightEdge, loadRightEdge } from "#lib/protocol/tlog/tiles";
import { anyKind, databaseKinds, openTestDatabase } from "#support/databases";
import { proveStored, selectTiles } from "./reader";

it("prove leaves of trees of any size", async () => {
  const database = await openTestDatabase(anyKind);
  const leaves = Array.from({ length: 65_700 }, (_, i) => leafHash(Uint8Array.of(i, i >> 8, i >> 16)));
  const { changedTiles: tiles } = appendLeafHashes(emptyRightEdge(), leaves);
  await database.statement(
    `INSERT INTO log_tiles (log_id, level, tile_index, hashes)
     SELECT 1, * FROM unnest($1::int[], $2::bigint[], $3::bytea[])`,
    "write",
  )(
    arrayLiteral(tiles.map(({ level }) => level)),
    arrayLiteral(tiles.map(({ index }) => index)),
    arrayLiteral(tiles.map(({ hashes }) => hashes)),
  );
  const select = database.statement<{ tiles: string | null }>(
    `SELECT proof.tiles FROM (SELECT $1::bigint AS leaf, $2::bigint AS size) AS asked
     CROSS JOIN LATERAL (${selectTiles("1", "asked.leaf", "asked.size")}) AS proof`,
  );
  const sizes = [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 65_700];
  for (const size of sizes) {
    const { root } = loadRightEdge(size, tiles);
    for (const index of new Set([0, 1, 255, 256, size - 257, size - 2, size - 1])) {
      if (index < 0 || index >= size) continue;
      const [row] = await select(index, size);
      const proof = await proveStored(database, 1, index, size, row?.tiles ?? null);
      const claim = { leafHash: leaves[index] as Uint8Array, index, size, proof, root };
      expect(verifyInclusion(claim), `leaf ${index} of ${size}`).toBe(true);
      // Two on a level at most, and none that the proof doesn't need: a level has nothing above its own hashes.
      expect(row?.tiles?.split(" ").length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(size + 1) / 8));
    }
  }
  const [index, size] = [3, 300];
  const [row] = await select(index, size);
  const holds = async () => {
    const proof = await proveStored(database, 1, index, size, row?.tiles ?? null);
    const { root } = loadRightEdge(size, tiles);
    return verifyInclusion({ leafHash: leaves[index] as Uint8Array, index, size, proof, root });
  };
  const flip = database.statement(
    "UPDATE log_tiles SET hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) WHERE level = 0 AND tile_index = 1",
    "write",
  );
  // A tile that changes after its digest was seen is in that proof, and in none after it.
  await flip();
  expect(await holds()).toBe(false);
  await flip();
  expect(await holds()).toBe(true);
  await database.close();
});

it.skipIf(!databaseKinds.includes("postgres"))(
  "reads the tiles of the proof, and not all of their level, if the table was empty when it was planned",
  async () => {
    const database = await openTestDatabase("postgres");
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
  },
);
