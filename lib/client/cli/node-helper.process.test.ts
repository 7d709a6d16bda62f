/** Guarantee: the resident helper answers what the hook's own process would, for its user alone, and ends with what it serves. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { appendFile, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { approveUnproven, openNext } from "#support/authorizations";
import { runProgram as runCommandLine } from "#support/commands";
import { answerOf, type HookTest, newCall, runHookProcess, startHookTest } from "#support/hook-process";
import { listen } from "#support/listen";
import { findPort } from "#support/ports";

let around: HookTest;
let [keyFile, home, homes] = ["", "", 0];
beforeAll(async () => {
  around = await startHookTest();
  const { key } = await around.test.createKey("dev@example.com", ["hook", "record"]);
  keyFile = path.join(around.home, "hook.key");
  await writeFile(keyFile, key, { mode: 0o600 });
});

/** With its program the helper of a home ends. */
const leave = () => (home === "" ? undefined : rm(home, { recursive: true }));
beforeEach(async () => {
  await leave();
  homes += 1;
  home = path.join(around.home, `home-${homes}`);
  await mkdir(home);
  for (const name of ["countersign-hook.cjs", "countersign-hook.mjs"])
    await copyFile(`dist/${name}`, path.join(home, name));
});
afterAll(async () => {
  await leave();
  await around.close();
});

const socketFile = () => path.join(home, ".countersign/run/hook.sock");
const numberOf = () =>
  stat(socketFile()).then(
    ({ ino }) => ino,
    () => null,
  );
const isLive = () =>
  new Promise<boolean>((resolve) => {
    const socket = connect(socketFile(), () => resolve(socket.destroy() !== null)).on("error", () =>
      resolve(false),
    );
  });

/** The installed program, as an agent starts it. */
const start = (argv: string[], stdin: string, env: object = {}, onStart?: (child: ChildProcess) => void) => {
  const given = ["--url", around.service.base, "--key-file", keyFile, ...argv];
  return runProgram(given, stdin, env, onStart);
};
const runProgram = (
  argv: string[],
  stdin: string,
  env: object = {},
  onStart?: (child: ChildProcess) => void,
) =>
  runHookProcess(argv, stdin, {
    cwd: around.folder,
    env: { HOME: home, ...env },
    program: path.join(home, "countersign-hook.cjs"),
    ...(onStart && { onStart }),
  });

/** Others than that of util-linux take other words. */
const hasTerminals = spawnSync("script", ["--version"]).status === 0;
const runInTerminal = (line: string, seen: string) =>
  runCommandLine("script", ["-qefc", line, seen], { env: { HOME: home } });

/** Until its helper listens. */
async function startHelper(env: object = {}): Promise<void> {
  const { argv, before } = newCall(around.folder, "ls");
  await start([...argv, "--ask", "Write"], before, env);
  await expect.poll(isLive).toBe(true);
}

/** A way to the service that can be cut. */
async function relayTo(base: string) {
  const relay = { isAway: false, base: "", close: async () => undefined as unknown };
  const listening = await listen(async (incoming, outgoing) => {
    const parts: Uint8Array[] = [];
    for await (const part of incoming as AsyncIterable<Uint8Array>) parts.push(part);
    if (relay.isAway) return void incoming.socket.destroy();
    const { method = "GET", url = "", headers } = incoming;
    const answer = await fetch(`${base}${url}`, {
      method,
      headers: Object.entries(headers).filter(([name]) => /^(auth|content-type|idem)/.test(name)) as [
        string,
        string,
      ][],
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    });
    outgoing.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  return Object.assign(relay, { base: listening.base, close: () => listening.close() });
}

it("has programs without verifier, prover and Zod", async () => {
  const sizes = ["countersign-hook.cjs", "countersign-hook.mjs"].map(
    async (name) => (await stat(`dist/${name}`)).size,
  );
  const [relay = 0, hook = 0] = await Promise.all(sizes);
  expect(relay).toBeLessThan(6_000);
  expect(hook).toBeLessThan(170_000);
});

describe("the resident helper", () => {
  it("is started by the first call, for its user alone, and answers the next ones as the hook's own process", async () => {
    expect(await numberOf()).toBe(null);
    await startHelper();
    const modes = [path.dirname(socketFile()), socketFile()].map(
      async (file) => (await stat(file)).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o700, 0o600]);
    const number = await numberOf();
    const { agent, argv, before, event } = newCall(around.folder);
    const running = start(argv, before);
    await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
    const allowed = await running;
    expect(allowed).toMatchObject({ code: 0, err: expect.stringContaining("/approve/") });
    expect(answerOf(allowed).hookSpecificOutput.permissionDecision).toBe("allow");
    expect(answerOf(await start(argv, event("PostToolUse")))).toEqual({
      systemMessage: expect.stringContaining("Attested"),
    });
    expect(await around.list("attestations", agent)).toHaveLength(1);
    for (const stdin of ["", "\xff", before.slice(0, -1), event("SessionStart")])
      expect(await start(argv, stdin)).toMatchObject({
        code: 2,
        out: "",
        err: expect.stringMatching(/^countersign: /),
      });
    const other = newCall(around.folder, "git push");
    expect(await start([...other.argv, "--timeout", "3"], other.before)).toMatchObject({
      code: 0,
      out: expect.stringContaining("within 3 seconds"),
    });
    const inside = { CLAUDE_PROJECT_DIR: path.dirname(home) };
    expect(await start(argv, before, inside)).toMatchObject({
      code: 2,
      err: expect.stringContaining("is inside"),
    });
    expect(await numberOf(), "one helper for all").toBe(number);
  });

  it.skipIf(!hasTerminals)(
    "shows a waiting call in the agent's terminal, by itself or by the helper, which have none",
    async () => {
      for (const [isHelped, isKilled] of [
        [false, false],
        [true, false],
        [true, true],
      ]) {
        expect(await isLive()).toBe(isHelped);
        const { agent, argv } = newCall(around.folder);
        const event = { session_id: "t", cwd: around.folder, hook_event_name: "BeforeTool" };
        const call = { tool_name: "run_shell_command", tool_input: { command: "git push" } };
        await writeFile(path.join(home, "event"), JSON.stringify({ ...event, ...call }));
        const program = [
          process.execPath,
          path.join(home, "countersign-hook.cjs"),
          "--url",
          around.service.base,
        ];
        const words = [...program, "--key-file", keyFile, ...argv, "--dialect", "gemini"];
        // A program of this name in PATH isn't run.
        const ps = `#!/bin/sh\ntouch ${path.join(home, "ran")}\n`;
        await writeFile(path.join(home, "ps"), ps, { mode: 0o755 });
        const [pid, seen, end] = [`${home}/pid`, `${home}/seen`, `${home}/end`] as const;
        await Promise.all([seen, end].map((file) => rm(file, { force: true })));
        const hook = `PATH=${home}:$PATH setsid ${words.join(" ")} < ${home}/event`;
        const started = runInTerminal(
          `${hook} & echo $! > ${pid}; until [ -e ${end} ]; do sleep 0.1; done`,
          seen,
        );
        const readSeen = () => readFile(seen, "utf8").catch(() => "");
        const { token, requestId } = await openNext(around.test, around.key, agent);
        const shown = `\u001b\\]9;Countersign \\S+ \\S+/approve/${token} git push\u0007`;
        await expect.poll(readSeen).toMatch(new RegExp(shown));
        if (isKilled) process.kill(Number(await readFile(pid, "utf8")), "SIGKILL");
        else await approveUnproven(around.test, requestId);
        await expect.poll(readSeen).toMatch(new RegExp(`${shown}[^]*\u001b\\[23;0t`));
        await writeFile(end, "");
        await started;
        expect(await readdir(home)).not.toContain("ran");
        await expect.poll(isLive).toBe(true);
      }
    },
  );

  it("cancels the request of a call whose hook is ended", async () => {
    await startHelper();
    const { agent, argv, before } = newCall(around.folder);
    let child: ChildProcess | undefined;
    const running = start(argv, before, {}, (started) => {
      child = started;
    });
    await openNext(around.test, around.key, agent);
    child?.kill("SIGKILL");
    await running;
    const readStatus = async () => (await around.list("authorizations", agent))[0].status;
    await expect.poll(readStatus).toBe("cancelled");
  });

  it("that is killed blocks the call that it had, loses no record, and is started again", async () => {
    const relay = await relayTo(around.service.base);
    const begin = async () => {
      let child: ChildProcess | undefined;
      void runProgram(["serve"], "", {}, (started) => {
        child = started;
      });
      await expect.poll(isLive).toBe(true);
      return child;
    };
    const helper = await begin();
    const { agent, argv, before, event } = newCall(around.folder);
    relay.isAway = true;
    const record = () =>
      runProgram(["--url", relay.base, "--key-file", keyFile, ...argv, "--record"], event("PostToolUse"));
    for (let times = 0; times < 3; times += 1) expect(await record()).toEqual({ code: 0, out: "", err: "" });
    expect(await around.list("attestations", agent)).toEqual([]);
    const running = start(argv, before);
    await openNext(around.test, around.key, agent);
    helper?.kill("SIGKILL");
    expect(await running).toMatchObject({ code: 2, out: "", err: expect.stringContaining("helper ended") });
    expect(await isLive()).toBe(false);
    relay.isAway = false;
    const [folder = ""] = await readdir(path.join(home, ".countersign/records"));
    await rm(path.join(home, ".countersign/records", folder, "away"), { force: true });
    expect(await record()).toMatchObject({ code: 0 });
    await expect.poll(isLive).toBe(true);
    await expect.poll(() => around.list("attestations", agent)).toHaveLength(4);
    const made = await around.list("attestations", agent);
    expect(made.map((one: { client_gap: boolean }) => one.client_gap)).toEqual([false, false, false, false]);
    await relay.close();
  });

  it("that hangs holds no call until its agent would run it", async () => {
    let helper: ChildProcess | undefined;
    void runProgram(["serve"], "", {}, (started) => {
      helper = started;
    });
    await expect.poll(isLive).toBe(true);
    const { agent, argv, before } = newCall(around.folder);
    const running = start([...argv, "--timeout", "3"], before);
    await openNext(around.test, around.key, agent);
    helper?.kill("SIGSTOP");
    expect(await running).toMatchObject({ code: 2, out: "", err: expect.stringContaining("helper ended") });
    const other = newCall(around.folder, "git push");
    expect(await start([...other.argv, "--timeout=3"], other.before)).toMatchObject({
      code: 0,
      out: expect.stringContaining("within 3 seconds"),
    });
    helper?.kill("SIGKILL");
  });

  it("blocks a call of a program that is there by half, though somebody listens", async () => {
    await mkdir(path.dirname(socketFile()), { recursive: true, mode: 0o700 });
    const somebody = createServer().listen(socketFile());
    await rm(path.join(home, "countersign-hook.mjs"));
    const { argv, before } = newCall(around.folder, "ls");
    const ended = await start(argv, before);
    somebody.close();
    expect([ended.code, ended.err]).toEqual([2, expect.stringContaining("countersign-hook.mjs")]);
  });

  it("leaves calls to others that know another program, another proxy or no key file", async () => {
    await startHelper();
    const number = await numberOf();
    const { argv, before } = newCall(around.folder, "ls");
    const unasked = [...argv, "--ask", "Write"];
    expect(await start(unasked, before, { NO_PROXY: "example.com" })).toEqual({ code: 0, out: "", err: "" });
    const keyed = { COUNTERSIGN_API_KEY: "cs_test_x" };
    expect(await runProgram(["--url", around.service.base, ...unasked], before, keyed)).toMatchObject({
      code: 0,
    });
    expect(await numberOf()).toBe(number);
    await appendFile(path.join(home, "countersign-hook.mjs"), "\n");
    expect(await start(unasked, before)).toEqual({ code: 0, out: "", err: "" });
    const isOther = async () => (await numberOf()) !== number && (await isLive());
    await expect.poll(isOther).toBe(true);
  });

  it("reads its key for each call", async () => {
    await startHelper();
    const number = await numberOf();
    const own = path.join(home, "key");
    const { argv, before } = newCall(around.folder);
    const ask = () =>
      runProgram(["--url", around.service.base, "--key-file", own, ...argv, "--timeout", "1"], before);
    await writeFile(own, "cs_test_another", { mode: 0o600 });
    expect(await ask()).toMatchObject({ code: 2, err: expect.not.stringContaining("/approve/") });
    await copyFile(keyFile, own);
    expect((await ask()).err).toContain("/approve/");
    expect(await numberOf()).toBe(number);
  });

  it("ends when it is idle, or its program is gone", async () => {
    const ended = runProgram(["serve", "--idle", "1"], "");
    expect(await ended).toMatchObject({ code: 0 });
    expect(await numberOf()).toBe(null);
    const other = runProgram(["serve"], "");
    await expect.poll(isLive).toBe(true);
    await rm(path.join(home, "countersign-hook.mjs"));
    expect(await other).toMatchObject({ code: 0 });
  });
});

describe("a hook of type http", () => {
  it("is answered on this machine for who has the token, as the command would", async () => {
    const port = await findPort();
    const { agent, before, event } = newCall(around.folder);
    const options = [
      "--port",
      String(port),
      "--url",
      around.service.base,
      "--key-file",
      keyFile,
      "--agent",
      agent,
    ];
    let told = "";
    let child: ChildProcess | undefined;
    const ended = runProgram(["serve", ...options], "", {}, (started) => {
      child = started;
      started.stderr?.on("data", (text) => {
        told += text;
      });
    });
    await expect.poll(() => told).toContain("Listening");
    const file = path.join(home, `.countersign/run/token-${port}`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const token = (await readFile(file, "utf8")).trim();
    const url = `http://127.0.0.1:${port}/`;
    const post = (body: string, headers: Record<string, string> = { authorization: `Bearer ${token}` }) =>
      fetch(url, { method: "POST", body, headers });
    const running = post(before);
    await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
    expect(await (await running).json()).toMatchObject({
      hookSpecificOutput: { permissionDecision: "allow" },
    });
    expect(await (await post(event("PostToolUse"))).json()).toEqual({
      systemMessage: expect.stringContaining("Attested"),
    });
    for (const body of ["", before.slice(0, -1), event("SessionStart")])
      expect(await (await post(body)).json()).toMatchObject({
        hookSpecificOutput: { permissionDecision: "deny" },
      });
    const refused: Record<string, string>[] = [{}, { authorization: `Bearer ${"0".repeat(64)}` }];
    for (const headers of refused) expect((await post(before, headers)).status).toBe(403);
    expect(
      (await post(before, { authorization: `Bearer ${token}`, origin: "http://evil.example" })).status,
    ).toBe(403);
    expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(403);
    const rebound = await new Promise<number | undefined>((resolve) => {
      const headers = { host: "evil.example", authorization: `Bearer ${token}` };
      request({ port, host: "127.0.0.1", method: "POST", headers }, ({ statusCode }) =>
        resolve(statusCode),
      ).end(before);
    });
    expect(rebound).toBe(403);
    const again = await runProgram(["serve", ...options], "");
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining("choose another --port") });
    const gone = new AbortController();
    const waiting = fetch(url, {
      method: "POST",
      body: event("PreToolUse", { command: "git push --force" }),
      headers: { authorization: `Bearer ${token}` },
      signal: gone.signal,
    }).catch(() => "gone");
    await openNext(around.test, around.key, agent);
    gone.abort();
    expect(await waiting).toBe("gone");
    const readStatus = async () => (await around.list("authorizations", agent))[0].status;
    await expect.poll(readStatus).toBe("cancelled");
    child?.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0 });
    const agents = [process.execPath, "-p", "process.env.COUNTERSIGN_HOOK_TOKEN"];
    const { out } = await runProgram(["serve", ...options, "--", ...agents], "");
    expect(out).toMatch(/^[0-9a-f]{64}\n$/);
    expect(out.trim(), "another at each start").not.toBe(token);
  });

  it("gives its token to the agent that it starts, and ends with it, as it ended", async () => {
    const port = await findPort();
    const { agent } = newCall(around.folder);
    const script = `fetch("http://127.0.0.1:${port}/", { method: "POST", body: "{}", headers: { authorization: "Bearer " + process.env.COUNTERSIGN_HOOK_TOKEN } })
      .then((answer) => answer.json()).then((answer) => { console.log(JSON.stringify(answer)); process.exit(7); })`;
    const ended = await runProgram(
      [
        "serve",
        "--port",
        String(port),
        "--url",
        around.service.base,
        "--key-file",
        keyFile,
        "--agent",
        agent,
      ].concat(["--", process.execPath, "-e", script]),
      "",
    );
    expect(ended).toMatchObject({ code: 7, out: expect.stringContaining('"permissionDecision":"deny"') });
  });
});
