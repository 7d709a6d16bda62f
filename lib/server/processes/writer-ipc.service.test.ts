/** A process that is not the writer, and the writer, over a real socket. What they share is the socket alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import { type Calls, createAnswers, openCalls, serveCalls, workRemotely } from "./ipc";

const share = createShare("other", { organization: "o" });
const job = { keyPair: { secretKey: new Uint8Array([1]) }, payload: new Uint8Array([2, 3]) } as never;

/** A pool that notes what it is asked. */
function makePool(answer: () => Promise<unknown> = async () => ({ bytes: new Uint8Array([9]) })) {
  const asked: unknown[] = [];
  const run = (isRemembered: boolean) => (name: string, input: unknown, by: unknown) => {
    asked.push([name, input, by, isRemembered]);
    return answer();
  };
  return { pool: { run: run(false), runRemembered: run(true) } as unknown as ZkPool, asked };
}

describe("costly jobs", () => {
  let folder: string;
  let calls: Calls | undefined;
  let end = () => {};
  const serve = async (pool: ZkPool) => {
    end = await serveCalls(path.join(folder, "calls"), createAnswers({ pool }));
  };
  const open = async () => {
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

  it("run in the writer with their shares, remembered or not", async () => {
    const [own, writer] = [makePool(), makePool()];
    await serve(writer.pool);
    const pool = workRemotely(own.pool, await open());
    expect(await pool.run("issueZkProof", job, share)).toEqual({ bytes: new Uint8Array([9]) });
    await pool.runRemembered("issueZkProof", job, share);
    expect(writer.asked).toEqual([
      ["issueZkProof", job, share, false],
      ["issueZkProof", job, share, true],
    ]);
    expect(own.asked).toEqual([]);
  });

  it("fail with the errors that a request knows what to do with", async () => {
    const headers = { "retry-after": "5" } as const;
    const errors = [{ pointer: "/a", message: "b" }];
    const failures = [new AppError("service_unavailable", "enough", { headers, errors }), new Error("odd")];
    await serve(makePool(() => Promise.reject(failures.shift())).pool);
    const pool = workRemotely(makePool().pool, await open());
    const run = () => pool.run("issueZkProof", job, share).catch((error) => error);
    expect(await run()).toMatchObject({
      errorName: "service_unavailable",
      detail: "enough",
      headers,
      errors,
    });
    expect(String(await run())).toContain("odd");
  });

  it("run here while there is no writer, and there again when there is one", async () => {
    const [own, writer] = [makePool(), makePool()];
    const pool = workRemotely(own.pool, await open());
    await pool.run("issueZkProof", job, share);
    expect(own.asked).toHaveLength(1);
    await serve(writer.pool);
    await expect
      .poll(async () => {
        await pool.run("issueZkProof", job, share);
        return writer.asked.length;
      })
      .toBeGreaterThan(0);
  });

  it("run here if the writer ends in the middle", async () => {
    await serve(makePool(() => new Promise(() => {})).pool);
    const working = workRemotely(makePool().pool, await open()).run("issueZkProof", job, share);
    end();
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
