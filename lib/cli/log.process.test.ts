/**
 * `npm run log` on a real database: a new log after a restored backup, and one that is begun while processes run. What
 * was logged before stays valid, and the public answers tell the whole story.
 */
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import postgres from "postgres";
import { afterEach, describe, expect, it } from "vitest";
import { examineLog } from "#lib/cli/shared/doctor-keys";
import { parseVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { createGauges } from "#lib/server/telemetry/metrics";
import type { TestApp } from "#support/app";
import { approveUnproven, ask, openRequest } from "#support/authorizations";
import { expectExit, runProgram } from "#support/commands";
import { anyKind, databaseKinds } from "#support/databases";
import { attest, checkWholeLog, closeHomes, isValid, makeHome, run, start } from "#support/operator-commands";
import { findPrograms } from "#support/postgres-pair";
import { readStaticLog } from "#support/tlog-reader";

afterEach(closeHomes);

const programs = await findPrograms();

/** Keeps a copy of the home's database, as an operator would; what it returns puts the copy in its place. */
async function backUp(home: Record<string, string>): Promise<() => Promise<void>> {
  const { DATA_DIR: folder = "", DATABASE_URL: url } = home;
  if (url === undefined) {
    const data = path.join(folder, "pglite");
    cpSync(data, `${data}.backup`, { recursive: true });
    return async () => {
      rmSync(data, { recursive: true });
      cpSync(`${data}.backup`, data, { recursive: true });
    };
  }
  const file = path.join(folder, "backup.dump");
  const runTool = async (name: string, args: string[]) =>
    expectExit(await runProgram(path.join(programs?.folder ?? "", name), args, { env: {} }), 0);
  await runTool("pg_dump", ["--format=custom", `--file=${file}`, url]);
  return () => runTool("pg_restore", ["--clean", "--if-exists", "--exit-on-error", `--dbname=${url}`, file]);
}

it("makes nothing where there is no embedded database", async () => {
  const home = await makeHome("embedded");
  const { code, out } = await run("log", ["check"], home);
  expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining("There is no database in") });
  expect(readdirSync(String(home["DATA_DIR"]))).toEqual([]);
});

/** PostgreSQL's programs are beside its server, which may be on another machine. */
const kinds = databaseKinds.filter((kind) => kind === "embedded" || programs !== null);

describe.each(kinds)("the log of a restored backup (%s)", (kind) => {
  it("goes on in a new log, and never signs a second history", async () => {
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const kept = (await attest(first, key)).body;
    await first.app.close();
    const restore = await backUp(home);
    const second = await start(kind, home);
    const lost = (await attest(second, key)).body;
    await second.app.close();
    await restore();

    await expect(start(kind, home)).rejects.toThrow(/refuses to sign.*npm run log -- new-epoch/s);
    expect((await run("keys", ["rotate", "attestation"], home)).out).toMatch(/refuses to sign/);
    if (kind === "postgres") {
      // Another machine has signed none of what was lost, so it goes on.
      const DATA_DIR = path.join(String(home["DATA_DIR"]), "other");
      cpSync(path.join(String(home["DATA_DIR"]), "keys"), path.join(DATA_DIR, "keys"), { recursive: true });
      const other = await start(kind, { ...home, DATA_DIR });
      for (const more of [[], ["--new-log-key"]])
        expect(await run("log", ["new-epoch", ...more], home)).toMatchObject({
          code: 1,
          out: expect.stringMatching(/Servers are connected to this database from [\d.]+, .*--anyway/),
        });
      await other.app.close();
    }
    expectExit(await run("log", ["new-epoch"], home), 0);
    expect(await run("log", ["new-epoch"], home)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/can be continued.*--anyway/),
    });
    expectExit(await run("log", ["check"], home), 0);

    const test = await start(kind, home);
    const after = await attest(test, key);
    expect(after.status).toBe(201);
    expect(after.body.log).toMatchObject({ origin: "localhost:3000/log/2", index: 1 });
    expect(await isValid(test, kept.attestation_id)).toBe(true);
    expect(await isValid(test, after.body.attestation_id)).toBe(true);
    expect(await checkWholeLog(test, "/log")).toMatchObject({ ok: true, size: kept.log.tree_size });
    expect(await checkWholeLog(test, "/log/2")).toMatchObject({ ok: true, size: 2 });
    const { body } = await test.call("GET", "/v1/pubkey");
    const [old, open] = body.logs;
    expect(old.closed_at).not.toBeNull();
    const { previous, held } = JSON.parse(open.opened_by.payload).predicate;
    const [origin, size, root] = lost.log.checkpoint.split("\n");
    expect(previous).toEqual({ origin, size: Number(size), root });
    expect(held.size).toBe(kept.log.tree_size);
    expect(body.keys.map((one: { status: string; valid_to_index: number | null }) => one.status)).toEqual([
      "retired",
      "active",
    ]);
    expect(body.keys[0].valid_to_index).toBe(lost.log.tree_size);
    await test.app.close();
    // Each command on an embedded database opens it first, and what follows is the same on both.
    if (kind !== kinds.at(-1)) return;
    // Leaves of the old log that the database still holds are counted with the new one.
    expectExit(await run("log", ["snapshot"], home), 0);
    const checked = await run("log", ["check"], home);
    expect(checked.out).toContain("1 snapshot: ok");
    expectExit(checked, 0);
    // Another, of now, though nothing was added.
    expectExit(await run("log", ["snapshot"], home), 0);
    const tiles = path.join(String(home["DATA_DIR"]), "tiles");
    expectExit(await run("log", ["export-tiles", tiles], home), 0);
    for (const [part, log] of [
      ["", old],
      ["2", open],
    ] as const) {
      const read = (name: string) => readFileSync(path.join(tiles, part, name));
      expect(readStaticLog(read, log.vkey).length).toBe(part === "" ? kept.log.tree_size : 4);
    }
    const bundle = path.join(tiles, "2/tile/entries/000.p/4");
    rmSync(bundle);
    const refused = await run("log", ["export-tiles", tiles], home);
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining("000.p/4 is missing")]);
    expectExit(await run("log", ["export-tiles", tiles, "--new-only"], home), 0);
    expectExit(await run("log", ["export-tiles", tiles, "--repair"], home), 0);
    expect(readFileSync(bundle).length).toBeGreaterThan(0);
    expect((await run("log", ["export-tiles", tiles, "--new-log-key"], home)).code).toBe(2);
  });
});

describe("what was stopped since a backup", () => {
  it("is ended by the new log, or is for the operator to look at", async () => {
    const kind = kinds.at(-1) as (typeof kinds)[number];
    const home = await makeHome(kind);
    const first = await start(kind, home);
    const { key } = await first.createKey();
    const deleted = await first.createKey();
    const approve = async (test: TestApp, body: object = {}) => {
      const asked = await ask(test, key, body);
      await approveUnproven(test, asked.made.request_id);
      return asked.made.request_id;
    };
    const of = (test: TestApp, id: string) => ({
      read: () => test.call("GET", `/v1/authorize/${id}`),
      claim: () => test.call("POST", `/v1/authorize/${id}/claim`, { key, body: { run: "run 1" } }),
      revoke: () => test.call("POST", `/v1/authorizations/${id}/revoke`, { key, body: {} }),
      attest: async (human_authorization: unknown) =>
        attest(test, key, {
          agent_slug: "treasurer",
          action: "Pay 12,000 EUR to Example GmbH",
          human_authorization,
        }),
    });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const grant = { tools: ["pay"], max_calls: 3, expires_at };
    const [used, claimed, standing] = [
      await approve(first),
      await approve(first),
      await approve(first, { action: "Standing approval", grant }),
    ];
    const before = await approve(first);
    const objectOf = async (test: TestApp, id: string) =>
      (await of(test, id).read()).body.human_authorization;
    const kept = await of(first, before).attest(await objectOf(first, before));
    expect(kept.status).toBe(201);
    expect((await of(first, claimed).claim()).status).toBe(200);
    const waiting = await ask(first, key);
    await first.app.close();
    const restore = await backUp(home);

    const second = await start(kind, home);
    const object = await objectOf(second, used);
    const claimedObject = await objectOf(second, claimed);
    expect((await of(second, used).claim()).status).toBe(200);
    const lost = await of(second, used).attest(object);
    expect(lost.status).toBe(201);
    expect((await of(second, claimed).attest(claimedObject)).status).toBe(201);
    expect((await of(second, standing).revoke()).status).toBe(200);
    expect((await openRequest(second, waiting.made).deny()).status).toBe(200);
    const frozen = await second.call("POST", "/v1/identity/treasurer/freeze", { key, body: { reason: "x" } });
    expect(frozen.status).toBe(200);
    await second.app.context.database.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [
      deleted.keyId,
    ]);
    await second.app.close();
    await restore();

    if (kind === "postgres") {
      const doctor = await run("doctor", [], home);
      expect(doctor.out).toMatch(
        /new-epoch would end .*: 2 approvals without an attestation, 1 standing approval and 1 waiting request/,
      );
      expect(doctor.out).toMatch(
        /keys: 2 API keys work.*members: .*passkeys: .*rules: .*freezes: 0 agents of 1/,
      );
    }
    const begun = await run("log", ["new-epoch"], home);
    expectExit(begun, 0);
    expect(begun.out).toContain(
      "so they are ended: 2 approvals without an attestation, 1 standing approval and 1 waiting request.",
    );
    for (const line of [
      /^ {2}keys: 2 API keys work\. Delete again/m,
      /^ {2}members: \d+ membership/m,
      /^ {2}passkeys: 0 passkeys of 0 approvers/m,
      /^ {2}rules: 0 organizations have rules/m,
      /^ {2}freezes: 0 agents of 1 are frozen\. Freeze again/m,
      /^ {2}erasures: erase again/m,
    ])
      expect(begun.out).toMatch(line);
    expectExit(await run("log", ["check"], home), 0);

    const test = await start(kind, home);
    const says = async (answer: Promise<{ status: number; body: { code?: string } }>) => {
      const { status, body } = await answer;
      return [status, body.code];
    };
    expect(await says(of(test, used).claim())).toEqual([422, "authorization_revoked"]);
    expect(await says(of(test, used).attest(object))).toEqual([422, "authorization_revoked"]);
    expect(await says(of(test, claimed).claim())).toEqual([422, "authorization_revoked"]);
    expect((await of(test, standing).read()).body.revoked_at).not.toBeNull();
    const covered = await ask(test, key, { tool: "pay" });
    expect(covered.made.status, "nobody's standing approval covers it").toBe("pending");
    expect((await of(test, waiting.made.request_id).read()).body.status).toBe("cancelled");
    expect(await says(openRequest(test, waiting.made).deny())).toEqual([409, "authorization_not_pending"]);
    // Only the operator can know of this key: it works, as was printed.
    expect((await test.call("GET", "/v1/attestations", { key: deleted.key })).status).toBe(200);
    expect((await test.call("GET", "/v1/identity/treasurer")).body.frozen_at ?? null).toBeNull();
    expect((await test.call("GET", `/v1/verify/${kept.body.attestation_id}`)).status).toBe(200);
    // Four ends, each signed and in the agent's record.
    const { rows } = await test.query(
      "SELECT kind, agent_id IS NOT NULL AS recorded FROM log_leaves WHERE log_id = 2 ORDER BY leaf_index",
      [],
    );
    const end = { kind: "agent_change", recorded: true };
    expect(rows.slice(0, 5)).toEqual([
      { kind: "epoch", recorded: false },
      ...[end, end, end],
      { kind: "decision", recorded: true },
    ]);
    expect(await checkWholeLog(test, "/log/2")).toMatchObject({ ok: true });
    if (kind === "postgres") {
      const found = await examineLog(test.app.env, test.app.context.database);
      const remind = () => expect.objectContaining({ says: expect.stringContaining("that lacked entries") });
      expect(found).toContainEqual(remind());
      const later = () => new Date(Date.now() + 31 * 86_400_000);
      expect(await examineLog(test.app.env, test.app.context.database, later)).not.toContainEqual(remind());
    }
    await test.app.close();
  });

  it("is ended where the operator alone knows that the database is an older copy", async () => {
    const home = await makeHome(anyKind);
    const test = await start(anyKind, home);
    const { key } = await test.createKey();
    const asked = await ask(test, key);
    await approveUnproven(test, asked.made.request_id);
    await test.app.close();
    const refused = await run("log", ["new-epoch"], home);
    expect(refused).toMatchObject({ code: 1, out: expect.stringMatching(/older copy, add --restored/) });
    const begun = await run("log", ["new-epoch", "--restored"], home);
    expectExit(begun, 0);
    expect(begun.out).toContain(
      "1 approval without an attestation, 0 standing approvals and 0 waiting requests",
    );
    const again = await start(anyKind, home);
    const claim = await again.call("POST", `/v1/authorize/${asked.made.request_id}/claim`, {
      key,
      body: { run: "run 1" },
    });
    expect([claim.status, claim.body.code]).toEqual([422, "authorization_revoked"]);
    await again.app.close();
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))(
  "a foreign writer, or an older version on an upgraded database",
  () => {
    it("writes no leaf that is in no record, and what it once wrote is named by check, doctor and metric", async () => {
      const home = await makeHome("postgres");
      const test = await start("postgres", home);
      const { key } = await test.createKey();
      expect((await attest(test, key)).status).toBe(201);
      const whole = await run("log", ["check"], home);
      expectExit(whole, 0);
      expect(whole.out).toContain("4 leaves, 1 of them in records, 3 statements: ok");

      const sql = postgres(home["DATABASE_URL"] ?? "", { max: 1, onnotice: () => {} });
      // A statement that knows no columns of records.
      const write = (
        index: number,
        kind: string,
      ) => sql`INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data, payload_hash)
      SELECT log_id, ${index}, ${kind}, leaf_hash, data, payload_hash FROM log_leaves WHERE kind = 'attestation' LIMIT 1`;
      for (const kind of ["attestation", "decision"])
        await expect(write(4, kind)).rejects.toMatchObject({ constraint_name: "log_leaves_place" });
      const place =
        await sql`SELECT agent_id, sequence + 1 AS next, previous, payload_hash FROM log_leaves WHERE agent_id IS NOT NULL`;
      const { agent_id, next, previous, payload_hash } = place[0] ?? {};
      await expect(sql`INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data, agent_id, sequence, payload_hash)
      VALUES (1, 4, 'attestation', '', '', ${agent_id}, ${next}, ${payload_hash})`).rejects.toMatchObject({
        constraint_name: "log_leaves_place",
      });
      await expect(sql`INSERT INTO log_leaves (log_id, leaf_index, kind, leaf_hash, data, agent_id, sequence, previous, payload_hash)
      VALUES (1, 4, 'key_event', '', '', ${agent_id}, ${next}, ${previous}, ${payload_hash})`).rejects.toMatchObject(
        {
          constraint_name: "log_leaves_place",
        },
      );

      // Somebody with the database's rights can still do this.
      const second = (await attest(test, key)).body;
      await sql.unsafe(`ALTER TABLE log_leaves DROP CONSTRAINT log_leaves_place;
      ALTER TABLE log_leaves DISABLE TRIGGER USER;
      UPDATE agent_records SET sequence = 1, link = (SELECT previous FROM log_leaves WHERE sequence = 2);
      UPDATE log_leaves SET agent_id = NULL, sequence = NULL, previous = NULL WHERE sequence = 2`);
      const damaged = await run("log", ["check"], home);
      expectExit(damaged, 1);
      expect(damaged.out).toContain(
        `FAILED: 1 in no record: leaf 4 of log 1 (attestation ${second.attestation_id})`,
      );
      expect(damaged.out.match(/: ok/g)).toHaveLength(3);
      const found = await examineLog(test.app.env, test.app.context.database);
      expect(found.map(({ says }) => says).join("\n")).toMatch(/the leaves don't add up: 1 in no record/);
      const gauges = await createGauges(test.app.context, true).read();
      expect(gauges).toContainEqual({ name: "unrecorded_leaves", labels: {}, value: 1 });
      await sql.end();
    });

    it("is refused by the start and by every command, in words", async () => {
      const home = await makeHome("postgres");
      const test = await start("postgres", home);
      await test.app.close();
      const sql = postgres(home["DATABASE_URL"] ?? "", { max: 1 });
      await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('', 9000000000000)`;
      await sql.end();
      const words =
        /^Countersign cannot start: a newer version of Countersign has changed this database\. Run that version/m;
      await expect(start("postgres", home)).rejects.toThrow(words);
      for (const [command, args] of [
        ["log", ["check"]],
        ["log", ["snapshot"]],
        ["keys", ["list"]],
      ] as const) {
        const refused = await run(command, [...args], home);
        expectExit(refused, 1);
        expect(refused.out).toMatch(words);
      }
    });
  },
);

describe.skipIf(!databaseKinds.includes("postgres"))("running processes on PostgreSQL", () => {
  it("go on in a new log that is begun beside them, with a new key where one is asked for", async () => {
    const home = await makeHome("postgres");
    const test = await start("postgres", home);
    const { key } = await test.createKey();
    const before = (await attest(test, key)).body;
    expectExit(await run("log", ["new-epoch", "--anyway"], home), 0);
    const second = await attest(test, key);
    expect(second.body.log).toMatchObject({ origin: "localhost:3000/log/2", index: 1 });
    expectExit(await run("log", ["new-epoch", "--new-log-key"], home), 0);
    const third = await attest(test, key);
    expect(third.body.log).toMatchObject({ origin: "localhost:3000/log/3", index: 2 });
    for (const { attestation_id } of [before, second.body, third.body])
      expect(await isValid(test, attestation_id)).toBe(true);
    const { body } = await test.call("GET", "/v1/pubkey");
    const keyOf = (log: { vkey: string }) => parseVerifierKey(log.vkey).publicKey.join();
    expect(keyOf(body.logs[0])).toBe(keyOf(body.logs[1]));
    expect(keyOf(body.logs[1])).not.toBe(keyOf(body.logs[2]));
    for (const prefix of ["/log", "/log/2", "/log/3"])
      expect(await checkWholeLog(test, prefix)).toMatchObject({ ok: true });
  });
});
