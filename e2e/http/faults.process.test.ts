/** `npm run faults` in short, with chosen faults: nothing acknowledged is lost or doubled, and a loss would be seen. */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createChance } from "#e2e/faults/chance";
import { type Comparison, compare } from "#e2e/faults/compare";
import { takeConnections } from "#e2e/faults/full-pool";
import { runKills } from "#e2e/faults/kills";
import { openProbes, type Probes } from "#e2e/faults/probes";
import { stopMidAnswer } from "#e2e/faults/slow-database";
import { openStage, type Stage } from "#e2e/faults/stage";
import { layWire, type Wire } from "#support/cut-connections";
import { databaseKinds } from "#support/databases";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const nothing = { lost: [], doubled: [], forked: [] };

describe.skipIf(!databaseKinds.includes("postgres") || process.platform !== "linux")(
  "kill -9 of the built service and of its database, one without connections, one that stops mid-answer",
  () => {
    let stage: Stage;
    let wire: Wire;
    let probes: Probes;
    const check = (): Promise<Comparison> => {
      const { work, cluster, receiver, ledger } = stage;
      return compare(ledger, { base: work.bases[0] ?? "", databaseUrl: cluster.url, receiver });
    };
    beforeAll(async () => {
      const chance = createChance(18);
      const clusterSettings = ["max_connections=50"];
      const settings = async ({ url }: { url: string }) => {
        wire = await layWire(url);
        return { DATABASE_URL: wire.url };
      };
      const options = { instances: [1], clients: 3, withApprovals: false, clusterSettings, settings };
      stage = await openStage({ ...options, chance });
      probes = await openProbes(stage.work.bases[0] ?? "", stage.work.key);
    });
    afterAll(async () => {
      await stage.close();
      await wire.close();
    });

    it("loses and doubles nothing that was acknowledged", async () => {
      const { ledger, instances } = stage;
      const problems: string[] = [];
      await takeConnections(stage, probes, problems);
      await stopMidAnswer(wire, probes, problems);
      await wire.mend();
      await probes.back();
      expect(problems).toEqual([]);
      const chance = createChance(18);
      for (const name of ["database backend", "service", "database"] as const)
        await runKills(1, stage, ledger, chance, { choose: () => name });
      const kept = () => ledger.receipts.filter(({ id }) => !ledger.erasing.has(id)).length;
      await expect.poll(() => Math.min(kept(), ledger.decisions.size)).toBeGreaterThan(0);
      await stage.endLoad();
      await Promise.all(instances.map((one) => one.ready()));
      expect(await check()).toMatchObject(nothing);
      expect(ledger.unexpected).toEqual([]);
    });

    it("would notice what is missing, happened twice, or was decided otherwise", async () => {
      const { ledger, cluster } = stage;
      const sql = postgres(cluster.url, { max: 1 });
      const [receipt] = ledger.receipts.filter(({ id }) => !ledger.erasing.has(id));
      const [requestId] = ledger.decisions.keys();
      await sql`DELETE FROM attestations WHERE id = ${receipt?.id ?? ""}`;
      await sql`UPDATE authorization_requests SET status = 'expired' WHERE id = ${requestId ?? ""}`;
      await sql`INSERT INTO webhook_messages (id, organization_id, type, subject, body)
        SELECT 'msg_lost', organization_id, type, subject, body FROM webhook_messages LIMIT 1`;
      await sql.end();
      ledger.sent[0]?.acknowledged.add("one").add("another");
      const { lost, doubled } = await check();
      expect(lost).toEqual(
        expect.arrayContaining([
          `attestation ${receipt?.id}`,
          expect.stringMatching(`of ${requestId}, which is expired`),
          "message msg_lost",
        ]),
      );
      expect(doubled).toEqual(
        expect.arrayContaining([
          `attestation ${ledger.sent[0]?.action}`,
          "1 leaves too many of attestations",
        ]),
      );
    });

    it("answers 503 on pages and the API while the database is gone, and comes back by itself", async () => {
      const { cluster, work } = stage;
      const targets = ["/agent/load-bot-0", "/v1/agent/load-bot-0", "/v1/health"];
      const statuses = () =>
        Promise.all(targets.map(async (target) => (await fetch(`${work.bases[0]}${target}`)).status));
      await expect.poll(statuses).toEqual([200, 200, 200]);
      await cluster.kill();
      await expect.poll(statuses).toEqual([503, 503, 503]);
      await cluster.start();
      await expect.poll(statuses).toEqual([200, 200, 200]);
    });
  },
);
