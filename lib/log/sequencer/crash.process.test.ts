/**
 * The process is killed without warning (kill -9) during load, twelve times, and PostgreSQL before it every second time: the
 * service goes on by itself, every 201 that a client saw is in the log at its index, and every checkpoint that left the
 * service stays a prefix of the log.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "#ci/postgres";
import { copyEmbeddedTemplate, databaseKinds } from "#support/databases";
import { checkEverything, type KeptReceipt, startLoad } from "#support/load";
import { fetchApiKey, killStartedProcesses, noLimits, startServerProcess } from "#support/processes";

const kills = 12;

interface Home {
  /** A PostgreSQL of its own, to be killed. */
  cluster?: Cluster;
  settings: Record<string, string>;
  receipts: KeptReceipt[];
  key: string;
}

/** A service on each kind of database; they are killed in turn. */
describe(`kill -9 during load (${databaseKinds.join(" and ")})`, () => {
  const homes: Home[] = [];
  const drops: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    for (const kind of databaseKinds) {
      const folder = mkdtempSync(path.join(tmpdir(), "countersign-crash-"));
      drops.push(() => rmSync(folder, { recursive: true, force: true }));
      const settings = { ...noLimits, DATA_DIR: folder };
      const home: Home = { settings, receipts: [], key: "" };
      homes.push(home);
      if (kind === "embedded") {
        await copyEmbeddedTemplate(folder);
        continue;
      }
      home.cluster = await startCluster([]);
      drops.push(home.cluster.stop);
      Object.assign(settings, { DATABASE_URL: home.cluster.url });
    }
  });
  afterAll(async () => {
    killStartedProcesses();
    for (const drop of drops) await drop();
  });

  it(`loses nothing that it acknowledged in ${kills} kills`, async () => {
    for (let n = 0; n < kills; n += 1) {
      const home = homes[n % homes.length] as Home;
      const { url, kill } = await startServerProcess(home.settings);
      home.key ||= await fetchApiKey(url);
      const load = startLoad(url, home.key, 12);
      await load.reach(1 + Math.floor(Math.random() * 30));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      const isDatabaseKilled = home.cluster !== undefined && Math.floor(n / homes.length) % 2 === 1;
      if (isDatabaseKilled) {
        await home.cluster?.kill();
        await home.cluster?.start();
        await load.reach(load.receipts.length + 5);
      }
      await kill();
      await load.stop();
      for (const status of load.failures) expect(isDatabaseKilled ? [0, 503] : [0]).toContain(status);
      home.receipts.push(...load.receipts);
    }
    for (const home of homes) {
      const { receipts } = home;
      const { url, kill } = await startServerProcess(home.settings);
      expect(receipts.length).toBeGreaterThanOrEqual(kills / homes.length);
      const { size } = await checkEverything(url, receipts);
      expect(size).toBeGreaterThanOrEqual(receipts.length);
      for (const { id } of receipts.filter((_, i) => i % Math.ceil(receipts.length / 20) === 0)) {
        const verified = await (await fetch(`${url}/v1/verify/${id}`)).json();
        expect(verified).toMatchObject({ valid: true });
      }
      await kill();
    }
  }, 900_000);
});
