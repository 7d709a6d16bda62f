/** A process that is not the writer, and the writer, over a real socket. What they share is the socket alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogReceipt } from "#lib/api/schemas/attest";
import { AppError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import { type Placed, type SealedStatement, SigningKeyChanged, StaleInputs } from "#lib/log/sequencer/entry";
import type { LogSequencer } from "#lib/log/sequencer/sequencer";
import type { Context } from "#lib/services/approvals/context";
import {
  type AttestationFacts,
  type AttestationItem,
  attestationKind,
  createEntry,
} from "#lib/services/attestations/store";
import { appendRemotely, type Calls, createAnswers, openCalls, serveCalls, workRemotely } from "./ipc";

const receipt = { index: 7, entry: "e" } as LogReceipt;
const place = { record: { agent_id: "a", sequence: 3, previous: "p" }, clientGap: true };
const sealed = { payload: new Uint8Array([1, 2]) } as SealedStatement;
/** Simulates the log's result: the item gets the agent of the slug's first use there, and its proof. */
const placedOf = (item: AttestationItem): Placed<AttestationItem> => ({
  item: Object.assign(item, { agentId: "a", zk: { zkProof: "z" } }),
  logId: 1,
  place,
  sealed,
  receipt,
});
const share = createShare("other", { organization: "o" });
const job = { keyPair: { secretKey: new Uint8Array([1]) }, payload: new Uint8Array([2, 3]) } as never;

/** A context that notes what it is asked, and what was forgotten. */
function makeContext(submit: (item: AttestationItem) => Promise<Placed<AttestationItem>>) {
  const forgotten: string[] = [];
  const memory = {
    forget: (name: string) => void forgotten.push(name),
    delete: (name: string) => forgotten.push(name) > 0,
  };
  const asked: unknown[] = [];
  const log = { submit: (_: unknown, item: AttestationItem) => submit(item) } as unknown as LogSequencer;
  const run = (isRemembered: boolean) => async (name: string, input: unknown, by: unknown) => {
    asked.push([name, input, by, isRemembered]);
    return { bytes: new Uint8Array([9]) };
  };
  const pool = { run: run(false), runRemembered: run(true) } as unknown as ZkPool;
  const keys = { signer: { keyId: "key" }, reload: async () => void asked.push("reload") };
  const context = { log, pool, keys, callers: memory, agents: memory } as unknown as Context;
  return { context, forgotten, asked };
}

const facts = {
  keyId: "key",
  agentId: "b",
  caller: { keyId: "caller", organizationId: "o" },
  predicate: { request: { agent_slug: "Bot" } },
} as unknown as AttestationFacts;

describe("what is left to the writer", () => {
  let folder: string;
  let calls: Calls | undefined;
  let end = () => {};
  const connect = async (writer: Context) => {
    end = await serveCalls(path.join(folder, "calls"), createAnswers(writer));
    calls = await openCalls(path.join(folder, "calls"));
    return calls;
  };
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "calls-"));
  });
  afterEach(async () => {
    calls?.close();
    end();
    await rm(folder, { recursive: true, force: true });
  });

  const refuseOwn = makeContext(() => Promise.reject(new Error("appended here")));

  it("gets attestations as they are, and their receipts come back", async () => {
    const got: AttestationItem[] = [];
    const writer = makeContext(async (item) => {
      got.push(item);
      return placedOf(item);
    });
    const log = appendRemotely(refuseOwn.context.log, await connect(writer.context));
    const item = await createEntry(refuseOwn.context, facts);
    const { item: stored, ...placed } = await log.submit(attestationKind, item);
    expect(placed).toEqual({ logId: 1, place, sealed, receipt });
    expect(stored).toMatchObject({ agentId: "a", zk: { zkProof: "z" }, caller: facts.caller });
    expect(stored.context).toBe(refuseOwn.context);
    expect(got[0]).toMatchObject({ keyId: "key", caller: { keyId: "caller" }, owner: "o" });
    expect(got[0]?.context).toBe(writer.context);
    // Not the writer's business.
    const decision = { ...attestationKind, kind: "decision" as const };
    await expect(log.submit(decision, item)).rejects.toThrow("appended here");
  });

  it("refuses with the errors that a request knows what to do with, and what was stale is forgotten in both", async () => {
    const headers = { "retry-after": "5" } as const;
    const errors = [{ pointer: "/a", message: "b" }];
    const known = new AppError("daily_limit_exceeded", "enough", { headers, errors });
    const failures: unknown[] = [new SigningKeyChanged(), new StaleInputs(), known, new Error("odd")];
    const writer = makeContext(async (item) => {
      item.forget?.();
      throw failures.shift();
    });
    const reader = makeContext(() => Promise.reject(new Error("appended here")));
    const log = appendRemotely(reader.context.log, await connect(writer.context));
    const submit = async (changes: Partial<AttestationFacts> = {}) => {
      const item = await createEntry(reader.context, facts);
      return log.submit(attestationKind, { ...item, ...changes }).catch((error) => error);
    };
    expect(await submit()).toBeInstanceOf(SigningKeyChanged);
    // The reader signs with its own keys again, and the writer signs the log with its own.
    expect(writer.asked).toEqual(["reload"]);
    expect(await submit()).toBeInstanceOf(StaleInputs);
    expect(await submit()).toMatchObject({
      errorName: "daily_limit_exceeded",
      detail: "enough",
      headers,
      errors,
    });
    expect(String(await submit())).toContain("odd");
    expect(new Set(writer.forgotten)).toEqual(new Set(["caller", "bot"]));
    expect(reader.forgotten).toEqual(writer.forgotten);
  });

  it("runs costly jobs with their shares, remembered or not", async () => {
    const writer = makeContext(async (item) => placedOf(item));
    const pool = workRemotely(refuseOwn.context.pool, await connect(writer.context));
    expect(await pool.run("issueZkProof", job, share)).toEqual({ bytes: new Uint8Array([9]) });
    await pool.runRemembered("issueZkProof", job, share);
    expect(writer.asked).toEqual([
      ["issueZkProof", job, share, false],
      ["issueZkProof", job, share, true],
    ]);
    expect(refuseOwn.asked).toEqual([]);
  });

  it("is done here while there is no writer, and there again when there is one", async () => {
    const own = makeContext(async (item) => ({ ...placedOf(item), receipt: { ...receipt, index: 1 } }));
    const lone = await openCalls(path.join(folder, "calls"));
    calls = lone;
    const log = appendRemotely(own.context.log, lone);
    const submit = async () =>
      (await log.submit(attestationKind, await createEntry(own.context, facts))).receipt.index;
    expect(await submit()).toBe(1);
    await workRemotely(own.context.pool, lone).run("issueZkProof", job, share);
    expect(own.asked).toHaveLength(1);
    end = await serveCalls(
      path.join(folder, "calls"),
      createAnswers(makeContext(async (item) => placedOf(item)).context),
    );
    await expect.poll(submit).toBe(7);
  });

  it("says that the outcome is not known if the writer ends in the middle, and does a job here then", async () => {
    const never = makeContext(() => new Promise(() => {}));
    never.context.pool.run = () => new Promise(() => {});
    const own = makeContext(() => Promise.reject(new Error("appended here")));
    const writer = await connect(never.context);
    const item = await createEntry(own.context, facts);
    const appending = appendRemotely(own.context.log, writer).submit(attestationKind, item);
    const working = workRemotely(own.context.pool, writer).run("issueZkProof", job, share);
    end();
    await expect(appending).rejects.toMatchObject({
      errorName: "service_unavailable",
      detail: expect.stringContaining("may or may not have been recorded"),
    });
    expect(await working).toEqual({ bytes: new Uint8Array([9]) });
  });

  it("carries a message of any size in one piece", async () => {
    const big = new Uint8Array(3_000_000).map((_, i) => i % 251);
    end = await serveCalls(path.join(folder, "calls"), async (_, value) => value);
    calls = await openCalls(path.join(folder, "calls"));
    const [first, second] = await Promise.all([calls.call("echo", big), calls.call("echo", "small")]);
    expect(Buffer.compare(first as Uint8Array, big)).toBe(0);
    expect(second).toBe("small");
  });
});
