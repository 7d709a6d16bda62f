/** A hook in a process of its own: it allows, blocks and attests; however it ends while it waits, its request ends with it. */
import type { ChildProcess } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveUnproven, openNext } from "#support/authorizations";
import { answerOf, type HookTest, newCall, startHookTest } from "#support/hook-process";
import { listen } from "#support/listen";

let around: HookTest;
beforeAll(async () => {
  around = await startHookTest();
});
afterAll(() => around.close());

/** A hook that waits, and shows so in a folder of its own. */
async function startWaiting(more: string[] = [], env: Record<string, string> = {}) {
  const { agent, argv, before } = newCall(around.folder);
  const shown = path.join(around.folder, `shown-${agent}`);
  let child: ChildProcess | undefined;
  const running = around.start([...argv, "--output", shown, ...more], before, env, (started) => {
    child = started;
  });
  const { requestId } = await openNext(around.test, around.key, agent);
  const listShown = () => readdir(shown).catch(() => []);
  await expect.poll(listShown, { timeout: 60_000 }).toEqual([`${requestId}.txt`]);
  const readStatus = async () =>
    (await around.test.call("GET", `/v1/authorize/${requestId}`)).body.status as string;
  return { agent, running, child, requestId, shown, listShown, readStatus };
}

describe("a hook that waits", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("ends on %s, cancelled and cleared", async (signal) => {
    const waiting = await startWaiting();
    expect(await waiting.readStatus()).toBe("pending");
    waiting.child?.kill(signal);
    const ended = await waiting.running;
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(`Ended by ${signal}`) });
    expect(await waiting.readStatus()).toBe("cancelled");
    expect(await waiting.listShown()).toEqual([]);
  });

  it("ends on a signal while its request is on the way, which is cancelled too", async () => {
    const { agent, argv, before } = newCall(around.folder);
    let child: ChildProcess | undefined;
    // Holds the request back until the hook has its signal.
    const slow = await listen(async (incoming, outgoing) => {
      const parts: Uint8Array[] = [];
      for await (const part of incoming as AsyncIterable<Uint8Array>) parts.push(part);
      if (incoming.method === "POST") {
        child?.kill("SIGTERM");
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      const { method = "GET", url = "", headers } = incoming;
      const answer = await fetch(`${around.service.base}${url}`, {
        method,
        headers: Object.entries(headers).filter(([name]) => /^(auth|content-type|idem)/.test(name)) as [
          string,
          string,
        ][],
        ...(parts.length > 0 && { body: Buffer.concat(parts) }),
      });
      outgoing.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
    const ended = await around.start(argv, before, { COUNTERSIGN_URL: slow.base }, (started) => {
      child = started;
    });
    await slow.close();
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining("Ended by SIGTERM") });
    expect(await around.list("authorizations", agent)).toMatchObject([{ status: "cancelled" }]);
  });

  it("ends at its own deadline, cancelled and cleared", async () => {
    const waiting = await startWaiting(["--timeout", "8"]);
    const { permissionDecision } = answerOf(await waiting.running).hookSpecificOutput;
    expect(permissionDecision).toBe("deny");
    expect(await waiting.readStatus()).toBe("cancelled");
    expect(await waiting.listShown()).toEqual([]);
  });

  it("keeps what it showed of a call that is deferred, and the request", async () => {
    const waiting = await startWaiting(["--defer", "--timeout", "8"], { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" });
    const { permissionDecision } = answerOf(await waiting.running).hookSpecificOutput;
    expect(permissionDecision).toBe("defer");
    expect(await waiting.readStatus()).toBe("pending");
    expect(await waiting.listShown()).toHaveLength(1);
  });

  it.each(["a-file", "/proc/nope"])("is cancelled if it can't show where to decide: %s", async (name) => {
    const { agent, argv, before } = newCall(around.folder);
    await writeFile(path.join(around.folder, "a-file"), "");
    const file = path.resolve(around.folder, name);
    const ended = await around.start([...argv, "--output", file], before);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(await around.list("authorizations", agent)).toMatchObject([{ status: "cancelled" }]);
  });

  it("shows each call in a file of its own, which nobody else can read", async () => {
    const folder = path.join(around.folder, "shared");
    await mkdir(folder);
    await chmod(folder, 0o755);
    const [first, second] = [newCall(around.folder), newCall(around.folder)];
    const running = [first, second].map(({ argv, before }) =>
      around.start([...argv, "--output", folder], before),
    );
    const asked = [
      await openNext(around.test, around.key, first.agent),
      await openNext(around.test, around.key, second.agent),
    ] as const;
    const names = asked.map(({ requestId }) => `${requestId}.txt`).sort();
    await expect.poll(async () => (await readdir(folder)).sort(), { timeout: 60_000 }).toEqual(names);
    const fileOf = ({ requestId }: { requestId: string }) => path.join(folder, `${requestId}.txt`);
    for (const one of asked) {
      expect(await readFile(fileOf(one), "utf8")).toContain(one.token);
      expect((await stat(fileOf(one))).mode & 0o777).toBe(0o600);
    }
    await asked[0].deny();
    await running[0];
    expect(await readdir(folder), "the other call still waits").toEqual([`${asked[1].requestId}.txt`]);
    await asked[1].deny();
    await running[1];
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("a hook in a process of its own", () => {
  it("allows what a human approved, and attests it in the next process", async () => {
    const { agent, argv, before, event } = newCall(around.folder);
    const running = around.start(argv, before);
    await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
    expect(answerOf(await running).hookSpecificOutput.permissionDecision).toBe("allow");
    const after = await around.start(argv, event("PostToolUse"));
    expect([after.code, answerOf(after).systemMessage]).toEqual([
      0,
      expect.stringMatching(/^Attested: http/),
    ]);
    expect(await around.list("attestations", agent)).toHaveLength(1);
  });

  it("runs once, if two processes have resumed its session", async () => {
    const { agent, argv, before, event } = newCall(around.folder);
    const running = [around.start(argv, before), around.start(argv, before), around.start(argv, before)];
    const { requestId } = await openNext(around.test, around.key, agent);
    await approveUnproven(around.test, requestId);
    const ended = await Promise.all(running);
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 2, 2]);
    for (const one of ended.filter(({ code }) => code === 2))
      expect(one).toMatchObject({ out: "", err: expect.stringContaining("another run has claimed") });
    expect(await around.list("authorizations", agent)).toHaveLength(1);
    expect(await around.start(argv, event("PostToolUse"))).toMatchObject({ code: 0 });
    expect(await around.list("attestations", agent)).toHaveLength(1);
  });

  it("blocks whatever goes wrong", async () => {
    const { argv, before, event } = newCall(around.folder);
    const other = await listen((_, outgoing) => outgoing.end("hello"));
    const env = { COUNTERSIGN_URL: other.base };
    expect(await around.start([...argv, "--timeout", "2"], before, env)).toMatchObject({ code: 2, out: "" });
    await other.close();
    for (const stdin of ["", before.slice(0, -1), event("SessionStart")])
      expect(await around.start(argv, stdin)).toMatchObject({
        code: 2,
        out: "",
        err: expect.stringMatching(/^countersign: /),
      });
  });
});
