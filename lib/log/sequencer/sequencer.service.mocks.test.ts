/**
 * The sequencer's promises: no timer for a lone item, no neighbour fails with another, nothing uncertain is reported
 * as done.
 */
import { sql } from "drizzle-orm";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Executor } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { happened } from "#lib/instrumentation";
import { checkStoredLogs } from "#lib/log/reading/history";
import { readOpenHead } from "#lib/log/reading/reader";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { databaseKinds } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { lockOpenHead } from "./append";
import { type LogEntry, type LogEntryKind, SigningKeyChanged } from "./entry";
import { type ForkGuard, ForkGuardError } from "./fork-guard";
import { createLogSequencer } from "./sequencer";

interface TestItem extends LogEntry {
  isBad: boolean;
  isEmpty: boolean;
}

const testKind: LogEntryKind<TestItem> = {
  // Statements of the service itself: those of agents need a place in a record.
  kind: "planted_requests",
  admit: async (_tx, items) =>
    items.map(({ isEmpty }) => (isEmpty ? new AppError("validation_error", "is empty") : null)),
  store: async (_tx, placed) => {
    if (placed.some(({ item }) => item.isBad)) throw new Error("a row that the database refuses");
  },
};

describe.each(databaseKinds)("the sequencer (%s)", (kind) => {
  const { test } = setupTestApp(kind);
  let n = 0;
  const makeItem = (changes: Partial<TestItem> = {}): TestItem => {
    n += 1;
    const { signer } = test.app.context.keys;
    const payload = utf8Encode(`payload ${n}`);
    return {
      build: () => ({ signer, payload }),
      keyId: signer.keyId,
      isBad: false,
      isEmpty: false,
      ...changes,
    };
  };
  const readSize = async () => (await readOpenHead(test.app.context.database.db)).size;
  const openWith = (guard: ForkGuard) => {
    const { database, keys, random, logger } = test.app.context;
    return createLogSequencer({ database, keys, guard, lock: null, random, logger });
  };
  const isRefused = (name: string) => (error: unknown) =>
    error instanceof AppError && error.errorName === name;

  afterEach(async () => {
    vi.useRealTimers();
    const logs = await checkStoredLogs(test.app.context.database.db, null);
    expect(logs).toHaveLength(1);
    expect(logs[0]?.check).toMatchObject({ ok: true });
    expect(logs[0]?.size).toBe(await readSize());
  });

  it("lets a lone item wait for no timer", async () => {
    await readSize();
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const { log } = test.app.context;
    const { receipt } = await log.submit(testKind, makeItem());
    expect(receipt.index).toBe(receipt.tree_size - 1);
    const fromUs = timers.mock.calls.filter(([, delayMs]) => delayMs !== undefined && delayMs < 1_000);
    expect(fromUs).toEqual([]);
    timers.mockRestore();
  });

  it("puts what arrives at once under one checkpoint, and what arrives meanwhile under the next", async () => {
    const { log } = test.app.context;
    const before = await readSize();
    const together = await Promise.all(
      [makeItem(), makeItem(), makeItem()].map((item) => log.submit(testKind, item)),
    );
    expect(together.map(({ receipt }) => receipt.index)).toEqual([before, before + 1, before + 2]);
    expect(new Set(together.map(({ receipt }) => receipt.checkpoint)).size).toBe(1);
    const first = log.submit(testKind, makeItem());
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const later = await Promise.all([makeItem(), makeItem()].map((item) => log.submit(testKind, item)));
    expect((await first).receipt.tree_size).toBe(before + 4);
    expect(later.map(({ receipt }) => receipt.tree_size)).toEqual([before + 6, before + 6]);
  });

  it("does not let one bad item sink its neighbours, nor a refused one take an index", async () => {
    const { log } = test.app.context;
    const before = await readSize();
    const items = Array.from({ length: 9 }, (_, i) =>
      makeItem(i === 3 ? { isBad: true } : i === 6 ? { isEmpty: true } : {}),
    );
    const settled = await Promise.allSettled(items.map((item) => log.submit(testKind, item)));
    const kept = settled.filter((one) => one.status === "fulfilled").map(({ value }) => value.receipt.index);
    expect(kept.sort((a, b) => a - b)).toEqual(Array.from({ length: 7 }, (_, i) => before + i));
    expect(settled[3]).toMatchObject({
      status: "rejected",
      reason: { message: "a row that the database refuses" },
    });
    expect(settled[6]).toMatchObject({ status: "rejected", reason: { errorName: "validation_error" } });
    expect(await readSize()).toBe(before + 7);
  });

  it("lets an owner's items go with the others' after a kind refused one, which no batch had to be made again for", async () => {
    const { log } = test.app.context;
    const send = (items: TestItem[]) =>
      Promise.allSettled(items.map((item) => log.submit(testKind, { ...item, owner: "one" })));
    expect((await send([makeItem({ isEmpty: true }), makeItem()])).map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
    ]);
    const [own, other] = await Promise.all([
      log.submit(testKind, makeItem({ owner: "one" })),
      log.submit(testKind, makeItem({ owner: "another" })),
    ]);
    expect(own.receipt.checkpoint).toBe(other.receipt.checkpoint);
  });

  it("refuses only the items that a key signed which is not the active one", async () => {
    const { log } = test.app.context;
    const items = [
      makeItem(),
      makeItem({ keyId: "0123456789abcdef" }),
      makeItem({ zkKeyId: "other" }),
      makeItem(),
    ];
    const settled = await Promise.allSettled(items.map((item) => log.submit(testKind, item)));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    for (const one of settled)
      if (one.status === "rejected") expect(one.reason).toBeInstanceOf(SigningKeyChanged);
  });

  it("keeps nothing that was checked with keys that are no longer the active ones", async () => {
    const { log } = test.app.context;
    await log.submit(testKind, makeItem());
    const before = await readSize();
    const turn = (from: string, to: string) =>
      test.query("UPDATE signing_keys SET status = $2 WHERE purpose = 'attestation' AND status = $1", [
        from,
        to,
      ]);
    await turn("active", "retired");
    await expect(log.submit(testKind, makeItem())).rejects.toBeInstanceOf(SigningKeyChanged);
    expect(await readSize()).toBe(before);
    await turn("retired", "active");
    await log.submit(testKind, makeItem());
    expect(await readSize()).toBe(before + 1);
  });

  const closeLog = async (tx: Executor) => {
    await tx.execute(sql`UPDATE logs SET closed_at = now()`);
    await tx.execute(
      sql`INSERT INTO logs (id, origin, key_id, size, root, checkpoint)
          SELECT id + 1, origin || '/next', key_id, 0, sha256(''), checkpoint FROM logs`,
    );
  };
  const openLogAgain = async () => {
    await test.query("DELETE FROM logs WHERE closed_at IS NULL");
    await test.query("UPDATE logs SET closed_at = NULL");
  };
  const refuse = async (_tx: Executor): Promise<(AppError | null)[]> => [
    new AppError("validation_error", "is empty"),
  ];

  it("checks again for the log that follows one that is closed now", async () => {
    const { log, database } = test.app.context;
    await log.submit(testKind, makeItem());
    await closeLog(database.db);
    const admit = vi.fn(refuse).mockResolvedValueOnce([null]);
    const submitted = log.submit({ ...testKind, admit }, makeItem());
    await expect(submitted).rejects.toSatisfy(isRefused("validation_error"));
    expect(admit).toHaveBeenCalledTimes(2);
    await openLogAgain();
  });

  it.runIf(kind === "postgres")("waits for no head with what its checks have locked", async () => {
    const { log, database } = test.app.context;
    await log.submit(testKind, makeItem());
    const [agent, gate] = [1, 2];
    const isWaiting = async (event: string) => {
      const waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = $1";
      return (await test.query(waits, [event])).rows.length === 1;
    };
    const admit = vi.fn(refuse).mockImplementationOnce(async (tx) => {
      await tx.execute(sql`SELECT pg_advisory_xact_lock(${agent}), pg_advisory_xact_lock(${gate})`);
      return [null];
    });
    let submitted: Promise<unknown> = Promise.resolve();
    await database.db.transaction(async (other) => {
      await other.execute(sql`SELECT pg_advisory_lock(${gate})`);
      await database.db.transaction(async (epoch) => {
        await lockOpenHead(epoch);
        submitted = log.submit({ ...testKind, admit }, makeItem()).catch((error: unknown) => error);
        await expect.poll(() => isWaiting("transactionid")).toBe(true);
        await closeLog(epoch);
      });
      await expect.poll(() => isWaiting("advisory")).toBe(true);
      await lockOpenHead(other);
      await other.execute(sql`SELECT pg_advisory_unlock(${gate})`);
      await other.execute(sql`SELECT pg_advisory_xact_lock(${agent})`);
    });
    expect(await submitted).toSatisfy(isRefused("validation_error"));
    await openLogAgain();
  });

  it("builds a batch that comes while a locked one is noted on that one, not on what was sent before it", async () => {
    const log = openWith(test.app.context.guard);
    const directKind: LogEntryKind<TestItem> = { kind: "planted_requests", insertStatements: () => [] };
    const before = await readSize();
    for (const kind of [testKind, directKind]) await log.submit(kind, makeItem());
    const behind = new Promise((resolve, reject) => {
      let isFirst = true;
      log.onCommit(() => {
        if (isFirst) log.submit(directKind, makeItem()).then(resolve, reject);
        isFirst = false;
      });
    });
    await log.submit(testKind, makeItem());
    await expect(behind).resolves.toMatchObject({ receipt: { index: before + 3 } });
  });

  it("tells nothing of a commit that the fork guard could not note, and tries nothing twice", async () => {
    const before = await readSize();
    const { guard } = test.app.context;
    const log = openWith({
      ...guard,
      check: () => {},
      advance: () => Promise.reject(new Error("the disk is full")),
    });
    const settled = await Promise.allSettled([1, 2, 3].map(() => log.submit(testKind, makeItem())));
    for (const one of settled)
      expect(one.status === "rejected" && isRefused("service_unavailable")(one.reason)).toBe(true);
    expect(await readSize()).toBe(before + 3);
  });

  it("signs nothing on top of a database that is behind what this machine has signed", async () => {
    const before = await readSize();
    const refuse = () => {
      throw new ForkGuardError("the database is older.");
    };
    const log = openWith({ current: () => null, check: refuse, advance: async () => {} });
    const told: string[] = [];
    const listen = ({ kind }: { kind: string }) => void told.push(kind);
    happened.subscribe(listen as never);
    await expect(log.submit(testKind, makeItem())).rejects.toSatisfy(isRefused("service_unavailable"));
    await expect(log.submitAll(testKind, [makeItem(), makeItem()])).rejects.toSatisfy(
      isRefused("service_unavailable"),
    );
    happened.unsubscribe(listen as never);
    expect(told.filter((kind) => kind === "fork guard refused")).toHaveLength(2);
    expect(await readSize()).toBe(before);
    await expect(test.app.context.log.submit(testKind, makeItem())).resolves.toMatchObject({
      receipt: { index: before },
    });
  });
});
