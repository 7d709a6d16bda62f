/**
 * A primary with a streaming standby. Public reads go to the standby and show nothing that is erased; what is not there
 * yet, the primary shows. Then the primary dies under load, and the standby takes its place: with synchronous replication
 * nothing that was acknowledged is lost and no fork is signed. With asynchronous replication something may be lost: then
 * nothing is signed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "#lib/db/client";
import { openReplicaDatabase } from "#lib/db/postgres/client";
import { watchReplica } from "#lib/db/postgres/replica";
import { startTestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { layWire, type Wire } from "#support/cut-connections";
import { checkEverything, startLoad } from "#support/load";
import { findPrograms, makePrimary, type Node } from "#support/postgres-pair";
import { fetchApiKey, noLimits, type ServerProcess, startServerProcess } from "#support/processes";

const programs = await findPrograms();

/** `it.skip` shows the reason in the report. */
const title =
  programs === null
    ? "failover: skipped, the tests' PostgreSQL is not on this machine (TEST_DATABASE_URL)"
    : "failover";

describe.skipIf(programs === null)(title, () => {
  let cluster: Awaited<ReturnType<typeof makePrimary>>;
  let second: Node;
  let wire: Wire;
  let server: ServerProcess;
  let settings: Record<string, string>;
  let key: string;
  let standby: Database;
  const url = () => server.url;
  const attest = async (action: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const body = JSON.stringify({ agent_slug: "failover-bot", action, inputs_hash: "x" });
    const response = await fetch(`${url()}/v1/attest`, { method: "POST", headers, body });
    return { status: response.status, body: await response.json() };
  };
  const verify = async (id: string) => fetch(`${url()}/v1/verify/${id}`);

  beforeAll(async () => {
    const settingsOfFirst = ["synchronous_standby_names=*", "synchronous_commit=on"];
    cluster = await makePrimary(programs as NonNullable<typeof programs>, settingsOfFirst);
    await cluster.primary.start();
    second = await cluster.primary.copy("second", ["hot_standby=on"]);
    await second.start();
    wire = await layWire(cluster.primary.url);
    const DATA_DIR = await mkdtemp(path.join(tmpdir(), "countersign-failover-"));
    settings = { ...noLimits, DATABASE_URL: wire.url, DATABASE_REPLICA_URL: second.url, DATA_DIR };
    server = await startServerProcess(settings);
    key = await fetchApiKey(url());
    standby = await openReplicaDatabase(second.url);
  });
  afterAll(async () => {
    await standby?.close();
    await server?.kill();
    await wire?.close();
    await cluster?.close();
    await rm(settings["DATA_DIR"] ?? "", { recursive: true, force: true });
  });

  const pauseReplay = async () => {
    await standby.query("SELECT pg_wal_replay_pause()", []);
    await expect
      .poll(async () => (await standby.query("SELECT pg_get_wal_replay_pause_state() AS state", [])).rows)
      .toEqual([{ state: "paused" }]);
  };
  const resumeReplay = () => standby.query("SELECT pg_wal_replay_resume()", []);

  it("answers public reads from the standby, and nothing else", async () => {
    const test = await startTestApp("postgres", settings);
    try {
      const { context } = test.app;
      const { replica } = context;
      if (replica === null) throw new Error("there is no replica");
      let uses = 0;
      const fresh = () => {
        const database = replica.fresh();
        uses += Number(database !== null);
        return database;
      };
      context.replica = { ...replica, fresh };
      const { key } = await test.createKey();
      const body = { agent_slug: "replicated-bot", action: "act", inputs_hash: "x" };
      const made = (await test.call("POST", "/v1/attest", { key, body })).body;
      const { made: asked } = await ask(test, key);
      const verifyPath = `/v1/verify/${made.attestation_id}`;
      const agentPath = "/v1/agent/replicated-bot";

      for (const target of [verifyPath, `${verifyPath}/payload`, `${verifyPath}/anchors`, agentPath])
        await expect
          .poll(async () => {
            uses = 0;
            return [(await test.call("GET", target)).status, uses];
          })
          .toEqual([200, 1]);

      await expect.poll(() => replica.fresh() !== null).toBe(true);
      uses = 0;
      const own: [string, { key?: string }][] = [
        [verifyPath, { key }],
        [`${agentPath}/record`, {}],
        ["/log/checkpoint", {}],
        [`/v1/authorize/${asked.request_id}`, {}],
        [`/v1/authorize/${asked.request_id}`, { key }],
        ["/v1/attestations", { key }],
        ["/v1/identity/replicated-bot", {}],
      ];
      for (const [target, options] of own) expect((await test.call("GET", target, options)).status).toBe(200);
      expect(uses).toBe(0);
    } finally {
      await test.close();
    }
  });

  it("shows what the standby has not got yet, and says erased only when the standby has erased", async () => {
    const { DATABASE_REPLICA_URL: _none, ...alone } = settings;
    const test = await startTestApp("postgres", alone);
    try {
      const { context } = test.app;
      const { key } = await test.createKey();
      const body = { agent_slug: "late-bot", action: "act", inputs_hash: "x" };
      const attest = () => test.call("POST", "/v1/attest", { key, body });
      const old = (await attest()).body.attestation_id;
      const isThere = async () =>
        (await standby.query("SELECT 1 FROM attestations WHERE id = $1", [old])).rows.length;
      await expect.poll(isThere).toBe(1);

      await pauseReplay();
      // Hides the standby's lag, as before anybody has noticed it.
      const unwatched = { problem: () => null, caughtUp: async () => {}, close: async () => {} };
      context.replica = { fresh: () => standby, ...unwatched };
      const late = (await attest()).body.attestation_id;
      const read = await test.call("GET", `/v1/verify/${late}`);
      expect([read.status, read.body.valid]).toEqual([200, true]);

      let nowMs = 1;
      let checks = 0;
      const open = async () => ({
        ...standby,
        query: (...asked: Parameters<Database["query"]>) => {
          checks += 1;
          return standby.query(...asked);
        },
        close: async () => {},
      });
      const { database: primary, logger } = context;
      const replica = watchReplica({ primary, open, logger, clockMs: () => nowMs });
      context.replica = replica;
      let isResumed = false;
      const erasing = test.call("DELETE", `/v1/attestations/${old}/content`, { key });
      const erased = erasing.then(({ status }) => [status, isResumed]);
      const isErased = async () =>
        (await primary.query("SELECT erased_at FROM attestations WHERE id = $1", [old])).rows[0]?.[
          "erased_at"
        ];
      await expect.poll(isErased).not.toBeNull();
      nowMs = 2;
      const before = checks;
      await expect.poll(() => checks).toBeGreaterThan(before + 1);
      isResumed = true;
      await resumeReplay();
      expect(await erased).toEqual([200, true]);
      const { rows } = await standby.query("SELECT payload, action FROM attestations WHERE id = $1", [old]);
      expect(rows).toEqual([{ payload: null, action: null }]);
      await replica.close();
    } finally {
      await resumeReplay();
      await test.close();
    }
  });

  it("loses nothing that was acknowledged if replication is synchronous, and forks nothing", async () => {
    const load = startLoad(url(), key, 6);
    await load.reach(40);
    await cluster.primary.kill();
    wire.leadTo(second.url);
    expect((await attest("before the standby is promoted")).status).toBe(503);
    await second.promote();
    await load.reach(load.receipts.length + 40);
    await load.stop();
    for (const status of load.failures) expect(status).toBe(503);
    await checkEverything(url(), load.receipts);
  });

  it("signs nothing more if asynchronous replication has lost what was signed, says why, and still shows the rest", async () => {
    const kept = await attest("kept");
    expect(kept.status).toBe(201);
    const third = await second.copy("third", ["hot_standby=on"]);
    await third.start();
    await third.kill();
    const lost = [await attest("lost 1"), await attest("lost 2")];
    expect(lost.map(({ status }) => status)).toEqual([201, 201]);
    await second.kill();
    await third.start();
    await third.promote();
    wire.leadTo(third.url);

    const isBack = async () => (await verify(kept.body.attestation_id)).status;
    await expect.poll(isBack).toBe(200);
    expect((await verify(lost[0]?.body.attestation_id)).status).toBe(404);
    await expect
      .poll(async () => {
        const answer = await attest("more");
        return [answer.status, answer.body.detail];
      })
      .toEqual([503, "the log cannot be extended until its operator has investigated"]);
    const database = postgres(third.url, { max: 1 });
    const [head] = await database<{ size: number }[]>`SELECT size::int FROM logs WHERE closed_at IS NULL`;
    await database.end();
    expect(head?.size).toBe(kept.body.log.tree_size);
    await expect(startServerProcess(settings)).rejects.toThrow(/refuses to sign.*has already signed/s);
  });
});
