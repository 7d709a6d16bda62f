/** A look-up that failed, or that got another's answer, never says that a key is invalid: only the database can. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { LogEntryKind } from "#lib/log/sequencer/entry";
import type { AttestationItem } from "#lib/services/attestations/store";
import { setupTestApp } from "#support/setup-app";
import { readPrincipalAgain } from "./authenticate";

describe("a key's look-up", () => {
  const { test } = setupTestApp();
  let key: string;
  let other: string;
  let keyId: string;
  beforeAll(async () => {
    ({ key, keyId } = await test.createKey());
    other = (await test.createKey("other@example.com")).key;
  });
  afterEach(() => vi.restoreAllMocks());

  const ask = (as: string) => test.call("GET", "/v1/keys/info", { key: as });

  /** Replaces the rows of the next look-up. */
  function answerNext(rows: (was: object[]) => object[]): void {
    const { database } = test.app.context;
    const { statement } = database;
    vi.spyOn(database, "statement").mockImplementationOnce((text, use) => {
      const run = statement<object>(text, use);
      return async (...parameters) => rows(await run(...parameters)) as never[];
    });
  }

  it.each<[string, (was: object[]) => object[]]>([
    ["nothing", () => []],
    ["a row of nothing", () => [{}]],
    ["its row behind a hole", (was) => [undefined as never, ...was]],
    ["more than its row", (was) => [...was, ...was]],
  ])("that is answered with %s is 503, and the next one is as before", async (_, rows) => {
    answerNext(rows);
    const failed = await ask(key);
    expect([failed.status, failed.body.code]).toEqual([503, "service_unavailable"]);
    expect(Number(failed.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask(key)).body.key_id).toBe(keyId);
  });

  it("that gets the answer about another key is 503, and lets nobody in as the other", async () => {
    let about: object[] = [];
    answerNext((was) => {
      about = was;
      return was;
    });
    expect((await ask(other)).status).toBe(200);
    answerNext(() => about);
    expect((await ask(key)).status).toBe(503);
  });

  it("that is repeated before an attestation is stored is an error too, not a verdict", async () => {
    const { context } = test.app;
    const principal = { keyId, ip: "127.0.0.1" } as Parameters<typeof readPrincipalAgain>[1];
    answerNext(() => []);
    const failed = { errorName: "service_unavailable" };
    await expect(readPrincipalAgain(context, principal)).rejects.toMatchObject(failed);
    expect(await readPrincipalAgain(context, principal)).toMatchObject({ keyId });
  });

  it("that finds no row of a key when its attestation is stored is no verdict either", async () => {
    const { log } = test.app.context;
    const { submit } = log;
    vi.spyOn(log, "submit").mockImplementationOnce(((
      itemKind: LogEntryKind<AttestationItem>,
      item: AttestationItem,
    ) => {
      item.caller = { ...item.caller, keyId: "00000000-0000-7000-8000-000000000000" };
      return submit(itemKind, item);
    }) as typeof submit);
    const body = { agent_slug: "unknown-key", action: "Paid", inputs_hash: "abc" };
    const failed = await test.call("POST", "/v1/attest", { key, body });
    expect([failed.status, failed.body.code]).toEqual([503, "service_unavailable"]);
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
  });

  it("of a revoked key, and of one of a deleted organization, still says that it is invalid", async () => {
    const { database } = test.app.context;
    const revoked = await test.createKey("revoked@example.com");
    const deleted = await test.createKey("deleted@example.com");
    await database.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [revoked.keyId]);
    await database.query("UPDATE organizations SET deleted_at = now() WHERE id = $1", [
      deleted.organizationId,
    ]);
    for (const one of [revoked, deleted]) expect((await ask(one.key)).body.code).toBe("invalid_api_key");
  });
});
