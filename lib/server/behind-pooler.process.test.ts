/**
 * A service that reaches its database through PgBouncer in transaction mode, and listens past it: what it does by itself
 * (webhooks, notices) is done, and who waits is woken by the decision, not by the time.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examineDatabase } from "#lib/cli/shared/doctor-keys";
import { startTestApp, type TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { addConfirmed, mailsTo } from "#support/enrol";
import { holdWaits } from "#support/held-waits";
import { startPooler } from "#support/pooler";
import { signInPerson } from "#support/portal";
import { startReceiver } from "#support/webhook-receiver";

describe.skipIf(!databaseKinds.includes("postgres"))("behind a pooler, with an address for listening", () => {
  const closing: (() => Promise<void>)[] = [];
  let test: TestApp;
  let key: string;
  beforeAll(async () => {
    const direct = await createTestDatabase();
    closing.push(direct.drop);
    const pooler = await startPooler(direct.url);
    closing.push(pooler.stop);
    const DATA_DIR = await mkdtemp(path.join(tmpdir(), "countersign-pooled-"));
    closing.push(() => rm(DATA_DIR, { recursive: true, force: true }));
    test = await startTestApp("postgres", {
      DATABASE_URL: pooler.url,
      DATABASE_LISTEN_URL: direct.url,
      DATA_DIR,
    });
    closing.push(test.close);
    key = (await test.createKey("owner@example.com")).key;
  });
  afterAll(async () => {
    for (const close of closing.toReversed()) await close();
  });

  it("learns of a decision as soon as it is taken", async () => {
    const { wakeups, database } = test.app.context;
    // In one process a decision wakes who waits without the database; several need this.
    expect([database.isPooled, database.listen]).toEqual([true, expect.any(Function)]);
    const asked = await ask(test, key);
    const { begins, restore } = holdWaits(wakeups);
    const waiting = test.call("GET", `/v1/authorize/${asked.made.request_id}?wait=25`);
    await begins;
    expect((await asked.deny()).status).toBe(200);
    expect((await waiting).body.status).toBe("denied");
    restore();
  });

  it("lets the doctor say at which address nothing is heard", async () => {
    const { env } = test.app;
    const heard = async (listenUrl = env.DATABASE_LISTEN_URL) => {
      const changed = { ...env, DATABASE_LISTEN_URL: listenUrl };
      const { findings, database } = await examineDatabase(env.DATABASE_URL ?? "", changed, () => new Date());
      await database?.close();
      return findings
        .filter(({ says }) => says.includes("LISTEN_URL"))
        .map(({ status, says }) => [status, says]);
    };
    expect(await heard()).toEqual([["ok", expect.stringContaining("is heard at")]]);
    expect(await heard(env.DATABASE_URL)).toEqual([
      ["fault", expect.stringMatching(/^nothing that is sent/)],
    ]);
    expect(await heard("postgres://u:pw@127.0.0.1:9/x")).toEqual([
      ["fault", expect.stringMatching(/DATABASE_LISTEN_URL at 127.0.0.1:9 .* nothing listens there/)],
    ]);
  });

  it("delivers webhooks and mails approvers by itself", async () => {
    const owner = await signInPerson(test.app.context, "owner@example.com");
    await addConfirmed(test, owner, "Ana", "ana@example.com");
    const receiver = await startReceiver();
    const endpoint = { url: receiver.url, events: ["authorization.denied", "attestation.created"] };
    expect((await test.call("POST", "/v1/webhooks", { key, body: endpoint })).status).toBe(201);
    const asked = await ask(test, key, { approvers: ["Ana"] });
    expect((await asked.deny()).status).toBe(200);
    const body = { agent_slug: "pooled-bot", action: "act", inputs_hash: "x" };
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
    const types = (await receiver.expect(2)).map((message) => JSON.parse(message.body).type);
    expect(types.sort()).toEqual(["attestation.created", "authorization.denied"]);
    const mailed = await ask(test, key, { approvers: ["Ana"], action: "Pay again" });
    await expect
      .poll(async () => (await mailsTo(test, "ana@example.com")).map(({ text }) => text).join(""))
      .toContain(mailed.token);
    await receiver.close();
  });
});
