/** Guarantee: a recorded call is attested once, in its order, whatever becomes of the process, the service or a file meanwhile. */
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashInputs } from "#lib/client/api/inputs";
import type { ClientIo } from "#lib/client/cli/io";
import { nodeMachine } from "#lib/client/cli/node-machine";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { breaking, type Fetch, fetchFrom } from "#support/client";
import { anyKind } from "#support/databases";
import { answerOf, newCall, runHookHere } from "#support/hook-process";
import { setupTestApp } from "#support/setup-app";
import { keepRecord, openSpool, type Spool } from "./record";
import { writeNote } from "./tools";

const { test } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "1000" });
let [key, recordKey, hookKey] = ["", "", ""];
let folder: string;
beforeAll(async () => {
  ({ key } = await test.createKey());
  ({ key: recordKey } = await test.createKey("dev@example.com", ["hook", "record"]));
  ({ key: hookKey } = await test.createKey("dev@example.com", ["hook"]));
  folder = await mkdtemp(path.join(tmpdir(), "countersign-record-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const noAnswer: Fetch = () => Promise.reject(new TypeError("fetch failed"));
let homes = 0;

/** A machine of its own, whose calls are numbered from 1. */
function startMachine(more: string[] = ["--record"]) {
  homes += 1;
  const home = path.join(folder, `home-${homes}`);
  const { agent } = newCall(folder);
  const around = { clock: 0 };
  const run = (argv: string[], stdin: string, fetch: Fetch = fetchFrom(test), apiKey = recordKey) =>
    runHookHere(argv, stdin, {
      env: { HOME: home, COUNTERSIGN_API_KEY: apiKey, COUNTERSIGN_URL: "http://localhost:3000" },
      fetch: fetch as typeof globalThis.fetch,
      runtime: { now: () => new Date(Date.now() + around.clock) },
    });
  const call = (name: string, command: string, ...rest: [fetch?: Fetch, apiKey?: string]) =>
    run(["--agent", agent, ...more], newCall(folder, command).event(name), ...rest);
  const end = (command: string, ...rest: [fetch?: Fetch, apiKey?: string]) =>
    call("PostToolUse", command, ...rest);
  const records = path.join(home, ".countersign", "records");
  const findFolder = async () => path.join(records, (await readdir(records))[0] ?? "");
  const listFiles = async () =>
    (await readdir(await findFolder())).filter((name) => /^\d+\.json$/.test(name));
  /** Attestations, first to last. */
  const list = async () => {
    const { body } = await test.call("GET", `/v1/attestations?agent_slug=${agent}&limit=100`, { key });
    const ids = body.attestations.map((one: { attestation_id: string }) => one.attestation_id);
    const made = await Promise.all(
      ids.map(async (id: string) => (await test.call("GET", `/v1/verify/${id}`, { key })).body),
    );
    return made.sort((a, b) => a.record.sequence - b.record.sequence);
  };
  /** The service answers again, and the pause after a failure is over. */
  const later = (seconds = 31) => {
    around.clock += seconds * 1_000;
  };
  return { agent, home, run, call, end, findFolder, listFiles, list, later };
}

const commandsOf = (list: { inputs_hash: string }[], commands: string[]) =>
  list.map(({ inputs_hash }) => commands.find((command) => hashInputs({ command }) === inputs_hash));
const sequencesOf = (list: { client: { sequence: number } }[]) => list.map(({ client }) => client.sequence);
const gapsOf = (list: { client_gap: boolean }[]) => list.map(({ client_gap }) => client_gap);

describe("a recorded call", () => {
  it("is attested after it ran: private, by a masked title and a hash, without a question or an approval", async () => {
    const { agent, end, call, list, listFiles } = startMachine();
    const secret = "sk-abcdefghijklmnopqrstuvwx";
    const command = `curl -H 'Authorization: Bearer ${secret}' https://example.com\necho ${secret}`;
    expect(await call("PreToolUse", command), "nothing before it").toEqual({ code: 0, out: "", err: "" });
    expect(await end(command)).toEqual({ code: 0, out: "", err: "" });
    const [made, ...more] = await list();
    expect(more).toEqual([]);
    expect(made).toMatchObject({
      action: "Use the tool Bash",
      inputs_hash: hashInputs({ command }),
      is_public: false,
      human_approval: { method: "none" },
      tools_used: ["Bash"],
      client: { instance: expect.stringMatching(/^hook-[0-9a-f]{16}$/), sequence: 1 },
      client_gap: false,
      metadata: {
        title: "curl -H 'Authorization: Bearer •••' https://example.com · echo •••",
        outcome: "completed",
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        session: "session-1",
      },
    });
    expect(JSON.stringify(made)).not.toContain(secret);
    expect(await listFiles()).toEqual([]);
    const { body } = await test.call("GET", `/v1/authorizations?agent_slug=${agent}`, { key });
    expect(body.authorizations).toEqual([]);
  });

  it("has its title in its organization's list, and the tool alone in the public one", async () => {
    const { agent, end } = startMachine(["--record", "--public"]);
    await end("git status");
    const read = async (path: string, more = {}) => (await test.call("GET", path, more)).body;
    const [own] = (await read(`/v1/attestations?agent_slug=${agent}`, { key })).attestations;
    expect(own).toMatchObject({ action: "Use the tool Bash", title: "git status" });
    const feed = JSON.stringify(await read(`/v1/agent/${agent}`));
    expect([feed.includes(own.attestation_id), feed.includes("git status")]).toEqual([true, false]);
  });

  it.each([
    [["--record", "Bash(git*)"], "Bash", true],
    [["--record", "Write"], "Bash", false],
    [["--ask", "Write", "--record", "--public"], "Bash", true],
    [["--ask", "Bash(rm*)", "--record=Bash"], "Bash", true],
  ])("is chosen by %j", async (more, _, isRecorded) => {
    const { end, list } = startMachine(more);
    expect(await end("git status")).toMatchObject({ code: 0 });
    const made = await list();
    expect(made).toHaveLength(isRecorded ? 1 : 0);
    if (isRecorded) expect(made[0].is_public).toBe(more.includes("--public"));
  });

  it("that has to be asked about is asked about, not only recorded", async () => {
    const { end, list } = startMachine(["--ask", "Bash", "--record"]);
    expect(await end("git push")).toMatchObject({ code: 2, err: expect.stringContaining("no approval") });
    expect(await list()).toMatchObject([{ metadata: { approval: "none" } }]);
  });

  it("shows with --before though it never came back, and what can't be kept doesn't begin", async () => {
    const { call, end, list, home } = startMachine(["--record", "--before"]);
    await call("PreToolUse", "sleep 9999");
    await call("PreToolUse", "true");
    await end("true");
    const made = await list();
    expect(commandsOf(made, ["sleep 9999", "true"])).toEqual(["sleep 9999", "true", "true"]);
    expect(made.map(({ metadata }) => [metadata.moment, metadata.outcome])).toEqual([
      ["before", undefined],
      ["before", undefined],
      ["after", "completed"],
    ]);
    await rm(path.join(home, ".countersign"), { recursive: true });
    await writeFile(path.join(home, ".countersign"), "in the way");
    expect(await call("PreToolUse", "true")).toMatchObject({ code: 2, out: "" });
    expect(await startMachine(["--before"]).end("true")).toMatchObject({ code: 2 });
  });
});

describe("a command in the background", () => {
  it("is recorded once more when the agent no longer lists it: that it ended, and not how", async () => {
    const { agent, run, list } = startMachine();
    const { eventWith } = newCall(folder, "sleep 9");
    const send = (name: string, more: object) => run(["--agent", agent, "--record"], eventWith(name, more));
    await send("PostToolUse", { tool_response: { backgroundTaskId: "b1" } });
    await send("Stop", { background_tasks: [{ id: "b1", status: "running" }] });
    expect(await list()).toMatchObject([{ metadata: { outcome: "started" } }]);
    for (const _ of ["a turn's end", "the next one"])
      expect(await send("Stop", { background_tasks: [] })).toEqual({ code: 0, out: "", err: "" });
    const [started, ended, ...more] = await list();
    expect(more).toEqual([]);
    expect(ended).toMatchObject({
      inputs_hash: started.inputs_hash,
      metadata: { moment: "end", outcome: "unknown", call: started.metadata.call, title: "sleep 9" },
    });
    expect(started.metadata.call).toBeDefined();
  });
});

it("removes notes of sessions that ended in the middle of a call, once there are many", async () => {
  const home = path.join(folder, "notes");
  const io = { ...nodeIo, machine: { ...nodeMachine(undefined), home } } as unknown as ClientIo;
  const note = { agent_slug: "a", session_id: "s", tool: "t", request_id: "r", inputs_hash: "h" };
  const calls = path.join(home, ".countersign/calls");
  const write = (call_id: string) => writeNote(io, { ...note, call_id });
  for (let i = 0; i < 101; i += 1) await write(`old-${i}`);
  const longAgo = new Date(Date.now() - 8 * 24 * 60 * 60 * 1_000);
  for (const name of await readdir(calls)) await utimes(path.join(calls, name), longAgo, longAgo);
  expect(await write("new")).toBe(true);
  expect(await readdir(calls)).toHaveLength(1);
});

describe("while the service is away, calls", () => {
  it("wait on this machine for its user alone, and go in their order, each with its own time", async () => {
    const { end, list, listFiles, findFolder, later } = startMachine();
    for (const command of ["one", "two", "three"])
      expect(await end(command, noAnswer)).toEqual({ code: 0, out: "", err: "" });
    expect(await list()).toEqual([]);
    const files = await listFiles();
    expect(files).toHaveLength(3);
    const modes = await Promise.all(
      [".", ...files].map(async (name) => (await stat(path.join(await findFolder(), name))).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
    const sent: string[] = [];
    const counted: Fetch = (url, init) => {
      sent.push(new URL(url).pathname);
      return fetchFrom(test)(url, init);
    };
    expect(await end("four", counted)).toMatchObject({ code: 0 });
    expect(sent, "a service that did not answer is left alone for a while").toEqual([]);
    later(100);
    await end("five", counted);
    expect(sent, "what was on the way, and the rest").toEqual(["/v1/attest/batch", "/v1/attest/batch"]);
    const made = await list();
    const commands = ["one", "two", "three", "four", "five"];
    expect(commandsOf(made, commands)).toEqual(commands);
    expect(sequencesOf(made)).toEqual([1, 2, 3, 4, 5]);
    expect(gapsOf(made)).toEqual(commands.map(() => false));
    const [first = 0, last = 0] = [made[0], made[4]].map(({ metadata }) => Date.parse(metadata.at));
    expect((last - first) / 1_000).toBeGreaterThanOrEqual(100);
    expect(await listFiles()).toEqual([]);
  });

  it.each(["before", "after"] as const)(
    "are attested once if the connection breaks %s the answer",
    async (kind) => {
      const { end, list, later } = startMachine();
      await end(
        "one",
        breaking(fetchFrom(test), kind, () => true),
      );
      await end("two", noAnswer);
      later();
      await end("three");
      const made = await list();
      expect(commandsOf(made, ["one", "two", "three"])).toEqual(["one", "two", "three"]);
      expect(sequencesOf(made)).toEqual([1, 2, 3]);
    },
  );

  it("are sent by the next process if one was killed while it sent", async () => {
    const { end, list, findFolder, later } = startMachine();
    await end("one", noAnswer);
    await writeFile(path.join(await findFolder(), "lock"), `${nodeMachine(undefined).host} 999999999`);
    later();
    await end("two");
    expect(sequencesOf(await list())).toEqual([1, 2]);
    await end("three", noAnswer);
    await writeFile(path.join(await findFolder(), "lock"), `${nodeMachine(undefined).host} ${process.ppid}`);
    later();
    await end("four");
    expect(sequencesOf(await list()), "somebody else sends").toEqual([1, 2]);
  });

  it("that are removed leave a gap, and so do those that find no room", async () => {
    const { agent, end, list, listFiles, findFolder, later } = startMachine();
    for (const command of ["one", "two", "three"]) await end(command, noAnswer);
    const [, second = ""] = await listFiles();
    await rm(path.join(await findFolder(), second));
    later();
    await end("four");
    expect(gapsOf(await list())).toEqual([false, true, false]);
    await end("five", noAnswer);
    const io = { ...nodeIo, machine: nodeMachine(undefined) } as Spool["io"];
    const spool: Spool = { io, folder: await findFolder(), room: 1 };
    expect(openSpool(io, "http://localhost", agent).room).toBe(10_000);
    const record = { agent_slug: agent, action: "x", inputs_hash: "x" };
    expect(await keepRecord(spool, record)).toBe(false);
    later();
    await end("six");
    const made = await list();
    expect(sequencesOf(made)).toEqual([1, 3, 4, 5, 7]);
    expect(gapsOf(made).slice(3)).toEqual([false, true]);
  });

  it("get a number each, however many end at once", async () => {
    const { end, list } = startMachine();
    const commands = Array.from({ length: 30 }, (_, i) => `command ${i}`);
    const ended = await Promise.all(commands.map((command) => end(command)));
    expect(new Set(ended.map(({ code }) => code))).toEqual(new Set([0]));
    const made = await list();
    expect(sequencesOf(made)).toEqual(commands.map((_, i) => i + 1));
    expect(commandsOf(made, commands).sort()).toEqual(commands.toSorted());
  });
});

describe("what the service refuses", () => {
  it("is said, and kept until the key may", async () => {
    const { end, list, later } = startMachine();
    const refused = await end("one", fetchFrom(test), hookKey);
    expect(refused).toMatchObject({ code: 0, err: expect.stringContaining("1 call isn't recorded yet") });
    expect(answerOf(refused)).toEqual({ systemMessage: expect.stringContaining("hook") });
    later();
    expect(await end("two")).toEqual({ code: 0, out: "", err: "" });
    expect(sequencesOf(await list())).toEqual([1, 2]);
  });

  it("for what it is stays in a file of its own, and holds up nothing", async () => {
    const { agent, run, end, list, findFolder } = startMachine();
    const odd = newCall(folder, "one").event("PostToolUse");
    await run(["--agent", agent, "--record", "--code-hash", "x".repeat(200)], odd);
    await end("two");
    expect(sequencesOf(await list())).toEqual([2]);
    const kept = await readFile(path.join(await findFolder(), "refused"), "utf8");
    expect(JSON.parse(kept)).toMatchObject({
      inputs_hash: hashInputs({ command: "one" }),
      why: expect.any(String),
    });
  });
});
