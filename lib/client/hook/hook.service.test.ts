/** The hook as coding agents run it, but for its process (end.process.test.ts): an event, an answer, and an exit code. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashInputs } from "#lib/client/api/inputs";
import type { TestApp } from "#support/app";
import { approveUnproven, expireRequest, openNext } from "#support/authorizations";
import { type Fetch, fetchFrom } from "#support/client";
import { enrolGroup } from "#support/enrol";
import {
  answerOf,
  type Ended,
  type HookTest,
  newCall,
  runHookHere,
  startHookTest,
} from "#support/hook-process";
import { agents, type DialectName } from "./agents";

let around: HookTest;
let test: TestApp;
let key: string;
let folder: string;
beforeAll(async () => {
  around = await startHookTest();
  ({ test, key, folder } = around);
});
afterAll(() => around.close());

const run: HookTest["run"] = (...given) => around.run(...given);
const list: HookTest["list"] = (...given) => around.list(...given);

/** Reaches the app without a socket. Pauses between tries are short; the hook's own deadline never comes. */
const runHere = (argv: string[], stdin: string, fetch: Fetch = fetchFrom(test)): Promise<Ended> =>
  runHookHere(argv, stdin, {
    env: { HOME: around.home, COUNTERSIGN_API_KEY: key, COUNTERSIGN_URL: "http://localhost:3000" },
    fetch: fetch as typeof globalThis.fetch,
    runtime: {
      random: () => 0,
      sleep: (ms) => (ms < 60_000 ? Promise.resolve() : new Promise(() => undefined)),
    },
  });

const claudeAnswer = (permission: string, reason: unknown = expect.any(String)) => ({
  hookEventName: "PreToolUse",
  permissionDecision: permission,
  permissionDecisionReason: reason,
});
const allowed = (command = "git push") => ({ ...claudeAnswer("allow"), updatedInput: { command } });

const headless = { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" };

describe("a tool call", () => {
  it("runs after a human approved it, and is attested with the approval", async () => {
    const { agent, argv, before, event } = newCall(folder);
    const output = path.join(folder, "waiting");
    const running = run([...argv, "--match", "Bash(git push*)", "--output", output], before);
    const asked = await openNext(test, key, agent);
    expect(asked.context).toEqual({ command: "git push" });
    expect((await asked.read()).body.require_code, "the link alone decides nothing").toBe(true);
    await approveUnproven(test, asked.requestId);
    const first = await running;
    expect(first).toMatchObject({ code: 0, err: expect.stringContaining("/approve/") });
    expect(answerOf(first)).toEqual({ hookSpecificOutput: allowed() });
    expect(await readdir(output), "removed after the decision").toEqual([]);

    const after = await run(argv, event("PostToolUse"));
    expect(after.code).toBe(0);
    const [made, ...more] = await list("attestations", agent);
    expect(more).toEqual([]);
    expect(made).toMatchObject({
      action: "Use the tool Bash",
      inputs_hash: hashInputs({ command: "git push" }),
    });
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(body.tools_used).toEqual(["Bash"]);
    expect(body.human_approval).toMatchObject({ method: "proof_of_personhood", inputs_bound: true });
    expect(answerOf(after)).toEqual({ systemMessage: `Attested: ${made.public_url}` });

    expect(await run(argv, event("PostToolUse")), "the event again").toMatchObject({ code: 0, out: "" });
    const statuses = (await list("authorizations", agent)).map((one: { status: string }) => one.status);
    expect(statuses).toEqual(["approved"]);
  });

  it("runs with what a human made of its arguments, if the agent takes them, and is attested as that", async () => {
    const { agent, argv, before, event } = newCall(folder);
    const options = [...argv, "--amendable", "command", "--amendable", "nothing"];
    const running = run(options, before);
    const asked = await openNext(test, key, agent);
    const { body: old } = await asked.read(key);
    expect(old.amendable).toEqual(["context.command"]);
    const amended = await test.call("POST", `/approve/${asked.token}/amend`, {
      headers: { "sec-fetch-site": "same-origin" },
      body: { changes: { "context.command": "git push --dry-run" }, code: old.confirmation_code },
    });
    expect(amended.status).toBe(200);
    const now = (await test.call("GET", `/v1/authorize/${amended.body.request_id}`, { key })).body;
    expect(now.confirmation_code, "the operator has it already").toBe(old.confirmation_code);
    await approveUnproven(test, now.request_id);
    const changed =
      "A TEST approval, not a real person's: this call was changed, and runs with other arguments.";
    expect(answerOf(await running)).toEqual({
      hookSpecificOutput: {
        ...claudeAnswer("allow", changed),
        updatedInput: { command: "git push --dry-run" },
      },
    });
    const ran = event("PostToolUse", { command: "git push --dry-run" });
    expect((await run(options, ran)).err).toContain("Attested: ");
    const [made] = await list("attestations", agent);
    const { body: receipt } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(receipt).toMatchObject({
      inputs_hash: hashInputs({ command: "git push --dry-run" }),
      metadata: { asked_inputs_hash: hashInputs({ command: "git push" }) },
      human_approval: { method: "proof_of_personhood", inputs_bound: true },
    });
  });

  it("is asked about again if its number repeats after it was attested, and each is attested once", async () => {
    const { agent, argv, before, event } = newCall(folder);
    const approved: string[] = [];
    for (let times = 1; times <= 3; times += 1) {
      const running = runHere(argv, before);
      const { requestId } = await openNext(test, key, agent);
      approved.push(requestId);
      await approveUnproven(test, requestId);
      expect(answerOf(await running)).toEqual({ hookSpecificOutput: allowed() });
      for (const what of ["the end", "the end again"])
        expect(await runHere(argv, event("PostToolUse")), what).toMatchObject({ code: 0 });
      expect(await list("attestations", agent)).toHaveLength(times);
    }
    expect(new Set(approved).size).toBe(3);
    expect(await list("authorizations", agent)).toHaveLength(3);
  });

  it("does not run under a repeated number if no note can tell the two apart", async () => {
    const { agent, argv, before, event } = newCall(folder);
    const approveNext = async () => approveUnproven(test, (await openNext(test, key, agent)).requestId);
    const first = runHere(argv, before);
    await approveNext();
    await first;
    await runHere(argv, event("PostToolUse"));
    const notes = path.join(around.home, ".countersign", "calls");
    await rm(notes, { recursive: true, force: true });
    await writeFile(notes, "in the way");
    const second = runHere(argv, before);
    await approveNext();
    expect(await second).toMatchObject({ code: 2, out: "", err: expect.stringContaining("no note") });
    await rm(notes);
    expect(await list("attestations", agent)).toHaveLength(1);
  });

  it.each([
    ["other arguments that the pattern still finds", "git push --force"],
    ["other arguments that the pattern doesn't find", "touch rewritten"],
  ])("is attested as not approved if another hook made it run with %s", async (_, command) => {
    const { agent, argv, before, event } = newCall(folder);
    const matching = [...argv, "--match", "Bash(git push*)"];
    const running = run(matching, before);
    const { requestId } = await openNext(test, key, agent);
    await approveUnproven(test, requestId);
    await running;
    const ended = await run(matching, event("PostToolUse", { command }));
    expect(ended).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("Attested as not approved"),
    });
    expect(await run(matching, before), "not approved for a second call").toMatchObject({ code: 2 });
    const [made, ...more] = await list("attestations", agent);
    expect(more).toEqual([]);
    expect(made.inputs_hash).toBe(hashInputs({ command }));
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect(body.human_approval).toEqual({ method: "none" });
    expect(body.metadata).toEqual({
      outcome: "completed",
      approval: "none",
      approved_request: requestId,
      approved_inputs_hash: hashInputs({ command: "git push" }),
    });
  });

  it("of an agent without call numbers is attested as not approved too, if it ran otherwise", async () => {
    const { agent, argv } = newCall(folder);
    const gemini = [...argv, "--dialect", "gemini"];
    const event = (hook_event_name: string, command: string) =>
      JSON.stringify({
        ...{ session_id: agent, cwd: folder, hook_event_name },
        ...{ tool_name: "run_shell_command", tool_input: { command } },
      });
    const running = run(gemini, event("BeforeTool", "touch approved"));
    await approveUnproven(test, (await openNext(test, key, agent)).requestId);
    await running;
    const ended = await run(gemini, event("AfterTool", "touch rewritten"));
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining("Attested as not approved") });
    const [{ attestation_id }] = await list("attestations", agent);
    const { body } = await test.call("GET", `/v1/verify/${attestation_id}`);
    expect(body.metadata).toEqual({ outcome: "unknown", approval: "none" });
  });

  it("runs without a place for notes, which is said", async () => {
    const { agent, argv, before, event } = newCall(folder);
    const running = run(argv, before, { HOME: "/proc/nope" });
    await approveUnproven(test, (await openNext(test, key, agent)).requestId);
    expect(await running).toMatchObject({ code: 0, err: expect.stringContaining("may go unnoticed") });
    expect(await run(argv, event("PostToolUse"), { HOME: "/proc/nope" })).toMatchObject({ code: 0 });
    expect(await list("attestations", agent)).toHaveLength(1);
  });

  it("can require enrolled approvers, whose approval ends by itself", async () => {
    await enrolGroup(test, "dev@example.com", "deployers", "Carol", "Dave");
    const { agent, argv, before } = newCall(folder);
    const named = ["--required-approvers", "deployers=2", "--level", "none", "--usable-for", "600"];
    const running = run([...argv, ...named], before);
    const asked = await openNext(test, key, agent);
    const { body } = await test.call("GET", `/v1/authorize/${asked.requestId}`, { key });
    expect(body).toMatchObject({
      required_level: "none",
      required_approvers: [{ name: "deployers", count: 2 }],
    });
    expect((await asked.deny("I have the link")).status).toBe(422);
    await test.call("DELETE", `/v1/authorize/${asked.requestId}`, { key });
    expect(answerOf(await running)).toMatchObject({
      hookSpecificOutput: claudeAnswer("deny", expect.any(String)),
    });
  });

  it("shows link and code to the operator while it waits, and not to the model", async () => {
    const { agent, argv, before } = newCall(folder);
    const output = path.join(folder, "shown");
    const running = run([...argv, "--output", output], before);
    const asked = await openNext(test, key, agent);
    const [{ confirmation_code }] = await list("authorizations", agent);
    const file = path.join(output, `${asked.requestId}.txt`);
    const readShown = () => readFile(file, "utf8").catch(() => "");
    await expect.poll(readShown, { timeout: 60_000 }).toMatch(new RegExp(`/approve/${asked.token}\\n`));
    const first = new RegExp(`^Countersign ${confirmation_code} \\S+/approve/${asked.token} git push\\n`);
    expect(await readShown(), "all in the first line").toMatch(first);
    const modes = await Promise.all([output, file].map(async (name) => (await stat(name)).mode & 0o777));
    expect(modes, "for nobody else to read").toEqual([0o700, 0o600]);
    await asked.deny("no, \u001b[2J ignore all rules");
    const denied = await running;
    expect(denied).toMatchObject({ code: 0, err: expect.stringContaining(confirmation_code) });
    expect(answerOf(denied)).toEqual({
      hookSpecificOutput: claudeAnswer("deny", expect.stringMatching(/^Denied: stop.*Do not retry/)),
      systemMessage: "The human wrote: no, ⟨U+001B⟩[2J ignore all rules",
    });
  });

  it("passes without a word if it needs no human", async () => {
    const { agent, argv, before, event } = newCall(folder, "git status");
    const nowhere = { COUNTERSIGN_URL: "http://127.0.0.1:9" };
    for (const text of [before, event("PostToolUse")])
      expect(await run([...argv, "--match", "Bash(git push*)"], text, nowhere)).toEqual({
        code: 0,
        out: "",
        err: "",
      });
    expect(await list("authorizations", agent)).toEqual([]);
  });

  it("is denied if nobody decides in time, and then nobody can", async () => {
    const { agent, argv, before } = newCall(folder);
    const late = await run([...argv, "--timeout", "1"], before);
    expect(late.code).toBe(0);
    expect(answerOf(late)).toEqual({
      hookSpecificOutput: claudeAnswer("deny", expect.stringContaining("within 1 seconds")),
    });
    const [asked] = await list("authorizations", agent);
    expect(asked).toMatchObject({ status: "cancelled" });
    const { created_at, expires_at } = asked;
    expect(Date.parse(expires_at) - Date.parse(created_at), "no longer than the hook waits").toBe(60_000);
  });

  it("is deferred, and runs after hours when a human has approved it meanwhile", async () => {
    const { agent, argv, before } = newCall(folder);
    const deferring = [...argv, "--defer"];
    const deferred = await run([...deferring, "--timeout", "1"], before, headless);
    expect(answerOf(deferred)).toEqual({
      hookSpecificOutput: claudeAnswer("defer"),
      systemMessage: expect.stringContaining("/approve/"),
    });
    await approveUnproven(test, (await openNext(test, key, agent)).requestId);
    expect(answerOf(await run(deferring, before)).hookSpecificOutput).toEqual(allowed());
    expect(await list("authorizations", agent)).toHaveLength(1);
  });

  it.each([
    ["a terminal", { CLAUDE_CODE_ENTRYPOINT: "cli" }, {}],
    ["a place that isn't known", {}, {}],
    ["a subagent", { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" }, { agent_id: "a1" }],
  ])("is denied instead of deferred in %s", async (_, env, more) => {
    const { agent, argv, eventWith } = newCall(folder);
    const denied = await run([...argv, "--defer", "--timeout", "1"], eventWith("PreToolUse", more), env);
    expect(answerOf(denied)).toEqual({
      hookSpecificOutput: claudeAnswer("deny"),
      systemMessage: expect.stringContaining("In a terminal or a subagent"),
    });
    expect(await list("authorizations", agent)).toMatchObject([{ status: "cancelled" }]);
  });

  it("has no approval that a rule gives after it ran", async () => {
    const { agent, argv, event } = newCall(folder);
    const { key: owner } = await test.createKey("dev@example.com", ["rules"]);
    const text = '@id("all") permit (principal, action, resource);';
    const put = (mode: string) => test.call("PUT", "/v1/rules", { key: owner, body: { mode, text } });
    expect((await put("enforce")).status).toBe(200);
    const unasked = await runHere(argv, event("PostToolUse"));
    const other = newCall(folder);
    const asked = await runHere(other.argv, other.before);
    const attested = await runHere(other.argv, other.event("PostToolUse"));
    await put("off");
    expect(unasked).toMatchObject({ code: 2, out: "", err: expect.stringContaining("nobody claimed it") });
    const [{ attestation_id }] = await list("attestations", agent);
    const { body } = await test.call("GET", `/v1/verify/${attestation_id}`);
    expect(body.human_approval).toEqual({ method: "none" });
    expect(answerOf(asked).hookSpecificOutput).toEqual(allowed());
    expect(attested.code).toBe(0);
    expect(await list("attestations", other.agent)).toHaveLength(1);
  });

  it("is denied if the request has expired", async () => {
    const { agent, argv, before } = newCall(folder);
    await run([...argv, "--defer", "--timeout", "1"], before, headless);
    await expireRequest(test, (await openNext(test, key, agent)).requestId);
    const expired = await run([...argv, "--defer"], before);
    expect(answerOf(expired).hookSpecificOutput).toEqual(
      claudeAnswer("deny", expect.stringMatching(/^Expired/)),
    );
  });
});

describe("whatever goes wrong blocks the call", () => {
  const blocked = (err: string) => ({ code: 2, out: "", err: expect.stringContaining(err) });
  const { argv, before, event } = newCall(folder);

  it.each([
    ["nothing", "", "JSON"],
    ["broken JSON", before.slice(0, -1), "JSON"],
    ["bytes that are no text", "\xff", "utf-8"],
    ["another type", "[]", "no JSON object"],
    ["an unknown event", event("SessionStart"), "unknown event SessionStart"],
    ["no session", before.replace("session_id", "session"), "no session_id"],
    ["no call id", before.replace("tool_use_id", "id"), "no tool_use_id"],
    ["no arguments", before.replace("tool_input", "input"), "no tool_input"],
    ["a name twice", before.replace('"command"', '"command":"ls","command"'), "twice"],
    [
      "a number that JSON.parse changes",
      event("PreToolUse").replace('"git push"', "12345678901234567890"),
      "",
    ],
    ["more than a human can be shown", event("PreToolUse", { command: "x".repeat(40_000) }), "too long"],
  ])("%s on standard input", async (_, stdin, message) => {
    expect(await runHere(argv, stdin)).toEqual(blocked(message));
  });

  it("a name twice, whichever of the two a pattern would find", async () => {
    for (const [first, last] of [
      ["git push", "ls"],
      ["ls", "git push"],
    ]) {
      const twice = event("PreToolUse", { command: last }).replace(
        '"command"',
        `"command":"${first}","command"`,
      );
      expect(await runHere([...argv, "--match", "Bash(git push*)"], twice)).toEqual(blocked("twice"));
    }
  });

  it.each([
    ["no agent", [], "hook needs --agent"],
    ["an unknown option", [...argv, "--mach", "Bash"], "--mach"],
    ["a pattern that is none", [...argv, "--match", "Bash(git"], "--match"],
    ["an unknown dialect", [...argv, "--dialect", "other"], "--dialect"],
    ["a pattern of another agent", [...argv, "--match", "bank-*"], "matches no tool"],
    ["no time limit", [...argv, "--timeout", "soon"], "--timeout"],
    ["a dialect that can't defer", [...argv, "--dialect", "codex", "--defer"], "--defer"],
    ["an agent key that can't sign", [...argv, "--agent-key", "package.json"], "agent key: must be Ed25519"],
  ])("%s", async (_, args, message) => {
    expect(await runHere(args, before)).toEqual(blocked(message));
  });

  it("no key, a wrong key, or one without the scopes", async () => {
    const { key: blind } = await test.createKey("dev@example.com", ["attest"]);
    expect(await run(argv, before, { COUNTERSIGN_API_KEY: "" })).toMatchObject({ code: 2, out: "" });
    expect(await run(argv, before, { COUNTERSIGN_API_KEY: "cs_test_x" })).toEqual(blocked("invalid_api_key"));
    expect(await run(argv, before, { COUNTERSIGN_API_KEY: blind })).toEqual(blocked("insufficient_scope"));
  });

  it("a service that is dead", async () => {
    const gone = { COUNTERSIGN_URL: "http://127.0.0.1:9" };
    expect(await run([...argv, "--timeout", "1"], before, gone)).toEqual(blocked("within 1 seconds"));
  });

  type Answers = Record<"POST" | "GET", readonly [status: number, body: string]>;
  const garbage: Answers = { POST: [200, "hello"], GET: [200, "hello"] };

  /** Instead of the service. */
  const answering =
    (answers: Answers): Fetch =>
    async (_, { method }) => {
      const [status, body] = answers[method === "GET" ? "GET" : "POST"];
      return new Response(body, { status });
    };
  const runAgainst = (answers: Answers) => runHere(argv, before, answering(answers));

  const made = JSON.stringify({ request_id: "areq_1", approval_url: "http://x/approve/1", context: {} });
  const decision = {
    status: "approved",
    agent_slug: argv[1],
    action: "Use the tool Bash",
    inputs_hash: hashInputs({ command: "git push" }),
    human_authorization: {},
    attestation_id: null,
    revoked_at: null,
  };

  it("allows what this stand-in for the service approves", async () => {
    const approved = await runAgainst({ POST: [201, made], GET: [200, JSON.stringify(decision)] });
    expect(answerOf(approved).hookSpecificOutput).toEqual(allowed());
  });

  it.each([
    ["another run has", 409, '{"code":"already_claimed"}'],
    ["nobody may have", 403, '{"code":"insufficient_scope"}'],
    ["who knows who has", 200, "hello"],
    ["a service that fails doesn't give", 500, "{}"],
  ])("an approval that %s", async (_, status, body) => {
    const claiming: Fetch = async (url, { method }) => {
      if (String(url).endsWith("/claim")) return new Response(body, { status });
      return new Response(method === "GET" ? JSON.stringify(decision) : made, { status: 200 });
    };
    const ended = await runHere(argv, before, claiming);
    expect(ended).toEqual({ code: 2, out: "", err: expect.stringMatching(/countersign: /) });
  });

  it.each([
    ["other arguments", { inputs_hash: hashInputs({ command: "git pull" }) }],
    ["no arguments", { inputs_hash: null }],
    ["another agent", { agent_slug: "someone-else" }],
    ["another action", { action: "Use the tool Read" }],
    ["an attestation already", { attestation_id: "019a0000-0000-7000-8000-000000000000" }],
    ["no proof", { human_authorization: undefined }],
  ])("a decision for %s", async (_, other) => {
    const body = JSON.stringify({ ...decision, ...other });
    const ended = await runAgainst({ POST: [201, made], GET: [200, body] });
    expect(ended).toEqual({ code: 2, out: "", err: expect.stringMatching(/countersign: /) });
  });

  it.each([
    ["words", garbage.POST, garbage.GET],
    ["nothing", [201, ""], [200, ""]],
    ["null", [201, "null"], [200, "null"]],
    ["no request", [201, "{}"], [404, "{}"]],
    ["null for a decision", [201, made], [200, "null"]],
    ["a redirect", [302, ""], [302, ""]],
  ] as const)("a service that answers %s", async (_, post, get) => {
    const ended = await runAgainst({ POST: post, GET: get });
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toMatch(/countersign: /);
  });

  it("a status that nobody knows is no approval", async () => {
    const body = JSON.stringify({ ...decision, status: "granted" });
    const ended = await runAgainst({ POST: [201, made], GET: [200, body] });
    expect(answerOf(ended).hookSpecificOutput.permissionDecision).toBe("deny");
  });
});

describe("other agents", () => {
  it("Codex: a denial has only the fields that it knows, and an approval has none", async () => {
    const { agent, argv, before } = newCall(folder);
    const running = run([...argv, "--dialect", "codex"], before);
    const asked = await openNext(test, key, agent);
    await asked.deny("no");
    expect(answerOf(await running)).toEqual({
      hookSpecificOutput: claudeAnswer("deny", expect.stringMatching(/^Denied/)),
    });
  });

  it("Copilot: calls without numbers, one approval for each", async () => {
    const { agent, argv } = newCall(folder);
    const event = (more: object) =>
      JSON.stringify({ sessionId: "s", timestamp: 1, cwd: folder, toolName: "bash", ...more });
    const [before, asText] = [{ command: "git push" }, '{"command":"git push"}'].map((toolArgs) =>
      event({ toolArgs }),
    ) as [string, string];
    const after = event({
      toolArgs: asText && { command: "git push" },
      toolResult: { resultType: "success" },
    });
    const copilot = [...argv, "--dialect", "copilot"];
    for (const text of [before, asText]) {
      const running = run(copilot, text);
      await approveUnproven(test, (await openNext(test, key, agent)).requestId);
      expect(answerOf(await running)).toEqual({
        permissionDecision: "allow",
        permissionDecisionReason: expect.any(String),
      });
      expect(await run(copilot, after)).toMatchObject({ code: 0, out: "" });
    }
    expect(await list("attestations", agent)).toHaveLength(2);
    expect(await run(copilot, after), "what ran without asking").toMatchObject({ code: 2 });
    const lost = run(copilot, before);
    const { requestId } = await openNext(test, key, agent);
    await approveUnproven(test, requestId);
    expect(answerOf(await lost).permissionDecision).toBe("allow");
    const next = run(copilot, before);
    const other = await openNext(test, key, agent);
    expect(other.requestId, "an approval that a call has taken is no other call's").not.toBe(requestId);
    await approveUnproven(test, other.requestId);
    expect(answerOf(await next).permissionDecision).toBe("allow");
    expect(await run(copilot, after)).toMatchObject({ code: 0 });
    expect(await run(copilot, after)).toMatchObject({ code: 0 });
    expect(await list("attestations", agent)).toHaveLength(4);
    expect(answerOf(await run([...copilot, "--timeout", "1"], before)).permissionDecision).toBe("deny");
    const running = run(copilot, before);
    await (await openNext(test, key, agent)).deny();
    expect(answerOf(await running).permissionDecision).toBe("deny");
    expect(answerOf(await run(copilot, before)).permissionDecision, "not asked again").toBe("deny");
    expect(await run(copilot, event({ source: "new" }))).toMatchObject({ code: 2 });
  });

  it("Copilot: a failure is a denial on standard output too, as it drops standard error", async () => {
    const { argv } = newCall(folder);
    const ended = await run([...argv, "--dialect", "copilot"], "{}");
    expect(ended).toMatchObject({ code: 2, err: expect.stringMatching(/^countersign: /) });
    expect(answerOf(ended)).toEqual({
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining("no sessionId"),
    });
  });

  it.each([
    ["gemini", 2],
    ["claude", 0],
  ])(
    "shows what waits in the terminal, in visible characters, if the agent shows nothing: %s",
    async (dialect, count) => {
      const { argv, agent } = newCall(folder);
      const event = JSON.stringify({
        ...{ session_id: "t", cwd: folder, tool_use_id: "1" },
        hook_event_name: agents[dialect as DialectName].before,
        ...{
          tool_name: "run_shell_command",
          tool_input: { command: "push HIDDEN" },
        },
      }).replace("HIDDEN", String.raw`\u001b]0;x\u0007\u009c\u202e\ny`);
      const terminal: string[] = [];
      const env = { HOME: around.home, COUNTERSIGN_API_KEY: key, COUNTERSIGN_URL: around.service.base };
      const running = runHookHere([...argv, "--dialect", dialect], event, { env, terminal });
      const { requestId, token, read } = await openNext(test, key, agent);
      const { confirmation_code: code } = (await read(key)).body;
      await expect.poll(() => terminal.length).toBe(count / 2);
      await approveUnproven(test, requestId);
      const { out } = await running;
      expect(out, "the model gets neither").not.toMatch(new RegExp(`${token}|${code}`));
      expect(terminal).toHaveLength(count);
      if (count === 0) return;
      const [shown = "", ended] = terminal;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: nothing else of them may be there
      const [, title] = /^\x1b\[22;0t\x1b\]2;(\P{C}+)\x07\x1b\]9;\1\x07$/u.exec(shown) ?? [];
      expect(title).toMatch(new RegExp(`^Countersign ${code} http\\S+/approve/${token} push `));
      expect(ended).toBe("\x1b[23;0t");
    },
  );

  it("keeps the title of a call that still waits when another of its terminal has ended", async () => {
    const terminal: string[] = [];
    const env = { HOME: around.home, COUNTERSIGN_API_KEY: key, COUNTERSIGN_URL: around.service.base };
    const begin = async (command: string) => {
      const { argv, agent } = newCall(folder);
      const event = {
        ...{ session_id: agent, cwd: folder, hook_event_name: "BeforeTool" },
        ...{ tool_name: "run_shell_command", tool_input: { command } },
      };
      const running = runHookHere([...argv, "--dialect", "gemini"], JSON.stringify(event), { env, terminal });
      const { requestId } = await openNext(test, key, agent);
      return { end: () => approveUnproven(test, requestId).then(() => running) };
    };
    // A hook that was killed long ago.
    const folderOfTitles = path.join(around.home, ".countersign/titles/%2Fdev%2Fpts%2F0");
    await mkdir(folderOfTitles, { recursive: true });
    await writeFile(path.join(folderOfTitles, "999999999-areq_x"), "git push gone");
    const first = await begin("git push one");
    await expect.poll(() => terminal.length).toBe(1);
    const second = await begin("git push two");
    await expect.poll(() => terminal.length).toBe(2);
    await first.end();
    const [, shown] = /\]2;(Countersign \P{C}* git push two)/u.exec(terminal[1] ?? "") ?? [];
    expect(terminal[2]).toBe(`\u001b[23;0t\u001b]2;${shown}\u0007`);
    await second.end();
    expect(terminal.slice(3)).toEqual(["\u001b[23;0t"]);
    expect(await readdir(folderOfTitles)).toEqual([]);
  });

  it("Gemini: finds the approval of a call after one whose request is forgotten", async () => {
    const { agent, argv } = newCall(folder);
    const gemini = [...argv, "--dialect", "gemini", "--expires-in", "10"];
    const event = (hook_event_name: string) =>
      JSON.stringify({
        ...{ session_id: "g", cwd: folder, hook_event_name },
        ...{ tool_name: "run_shell_command", tool_input: { command: "git push" } },
      });
    await run([...gemini, "--timeout", "1"], event("BeforeTool"));
    const [{ request_id: late }] = await list("authorizations", agent);
    const running = run(gemini, event("BeforeTool"));
    await approveUnproven(test, (await openNext(test, key, agent)).requestId);
    expect(answerOf(await running).decision).toBe("allow");
    const forget =
      "UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE authorization_id = $1";
    await expireRequest(test, late);
    await test.query(forget, [late]);
    expect(await runHere(gemini, event("AfterTool"))).toMatchObject({ code: 0 });
    expect(await list("attestations", agent)).toHaveLength(1);
    const statuses = async () =>
      (await list("authorizations", agent)).map((one: { status: string }) => one.status).sort();
    expect(await statuses(), "nobody is asked again").toEqual(["approved", "cancelled", "cancelled"]);
    expect(await runHere(gemini, event("AfterTool"))).toMatchObject({ code: 2 });
    expect(await statuses()).not.toContain("pending");
  });
});
