/**
 * The process is killed without warning (kill -9) during load, twenty times: every 201 that a client saw is in
 * the log at its index, and every checkpoint that left the service stays a prefix of the log.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { checkEverything, type KeptReceipt, startLoad } from "#support/load";
import { fetchApiKey, killStartedProcesses, noLimits, startServerProcess } from "#support/processes";

const kills = 20;

describe.each(databaseKinds)("kill -9 during load (%s)", (kind) => {
  let settings: Record<string, string>;
  let drop = async () => {};
  beforeAll(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "countersign-crash-"));
    const database = kind === "postgres" ? await createTestDatabase() : null;
    settings = { ...noLimits, DATA_DIR: folder, ...(database && { DATABASE_URL: database.url }) };
    drop = async () => {
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  afterAll(async () => {
    killStartedProcesses();
    await drop();
  });

  it(`loses nothing that it acknowledged in ${kills} kills`, async () => {
    const receipts: KeptReceipt[] = [];
    let key: string | null = null;
    for (let n = 0; n < kills; n += 1) {
      const server = await startServerProcess(settings);
      key ??= await fetchApiKey(server.url);
      const load = startLoad(server.url, key, 12);
      await load.reach(1 + Math.floor(Math.random() * 30));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      await server.kill();
      await load.stop();
      expect(load.failures.every((status) => status === 0)).toBe(true);
      receipts.push(...load.receipts);
    }
    expect(receipts.length).toBeGreaterThanOrEqual(kills);
    const server = await startServerProcess(settings);
    const { size } = await checkEverything(server.url, receipts);
    expect(size).toBeGreaterThanOrEqual(receipts.length);
    for (const { id } of receipts.filter((_, i) => i % Math.ceil(receipts.length / 20) === 0)) {
      const verified = await (await fetch(`${server.url}/v1/verify/${id}`)).json();
      expect(verified).toMatchObject({ valid: true });
    }
    await server.kill();
  }, 900_000);
});
