/**
 * The embedded database on a disk that fills up, has space again, and then less than the database asks for at a time: it
 * has been seen to turn in a loop then, which nothing but kill -9 ended (Linux, as root).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkEverything, type Load, startLoad } from "#support/load";
import { noLimits } from "#support/processes";
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from "#support/small-disk";
import { obtainKey, type ServerProcess, startServer } from "./server-process";

/** An empty database has a hundred. */
const megabytes = 140;
/** At first; then less than a segment of the log of writes (16 MB), again and again until that runs out. */
const leftBytes = [0, 1_000_000];
const lessThanSegment = 14_000_000;
const maxRounds = 12;
/** Eight seconds for a statement and its turn, and what a busy machine adds; who hangs never answers. */
const longestMs = 60_000;

describe.skipIf(whyNoSmallDisk() !== null)("the embedded database on a disk that fills up", () => {
  let disk: SmallDisk;
  let server: ServerProcess;
  const start = () => startServer("server", disk.folder, { ...noLimits, LOG_LEVEL: "warn" }, disk.launcher);
  beforeAll(async () => {
    disk = await openSmallDisk(megabytes);
    server = await start();
  });
  afterAll(async () => {
    await server.stop("SIGKILL");
    await disk.close();
  });

  /** Asks while it is full, and is answered in time; connections break if the process has ended. */
  async function ask(): Promise<number> {
    const signal = AbortSignal.timeout(longestMs);
    return fetch(`${server.base}/v1/agent/load-bot-0`, { signal }).then(
      ({ status }) => status,
      (error: Error) => {
        if (error.name === "TimeoutError") throw error;
        return 0;
      },
    );
  }

  async function untilRefused(load: Load): Promise<void> {
    for (const startedMs = Date.now(); load.failures.length === 0; await sleep(50))
      if (Date.now() - startedMs > 120_000) throw new Error("nothing was refused in two minutes");
  }

  it("answers in time, comes back with all that was acknowledged, and ends on SIGTERM", async () => {
    const key = await obtainKey(server.base);
    const loads: Load[] = [];
    let wasReplaced = false;
    for (let round = 0; round < maxRounds && !wasReplaced; round += 1) {
      const load = startLoad(server.base, key, 8);
      loads.push(load);
      disk.fill(leftBytes[round] ?? lessThanSegment);
      await untilRefused(load);
      for (let n = 0; n < 10; n += 1) {
        expect([0, 200, 404, 503]).toContain(await ask());
        await sleep(100);
      }
      disk.free();
      await load.stop();
      wasReplaced = server.output().includes("is started again");
      // Restarts as a service manager would; only a process that could not start its database again exits.
      if (server.child.exitCode !== null) {
        expect(server.output()).toContain("Countersign has ended: the embedded database");
        server = await start();
      }
      await expect.poll(ask, { timeout: 60_000 }).not.toBe(503);
    }
    expect(wasReplaced).toBe(true);
    const last = startLoad(server.base, key, 3);
    await last.reach(20);
    await last.stop();
    const receipts = [...loads, last].flatMap((load) => load.receipts);
    await checkEverything(server.base, receipts);
    const startedMs = performance.now();
    await server.stop();
    expect(performance.now() - startedMs).toBeLessThan(longestMs);
    expect(server.child.exitCode).toBe(0);
  });
});
