/** Outcome of approved calls: every one is attested, and says whether it failed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveUnproven, ask, openNext } from "#support/authorizations";
import { answerOf, type HookTest, newCall, startHookTest } from "#support/hook-process";

let around: HookTest;
beforeAll(async () => {
  around = await startHookTest();
});
afterAll(() => around.close());

/** Asks, approves, runs the hook again with what the agent says afterwards, and returns what is attested. */
async function approveAndEnd(dialect: string, before: string, after: string) {
  const { agent, argv } = newCall(around.folder);
  const full = [...argv, "--dialect", dialect];
  const running = around.run(full, before);
  await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
  expect((await running).code).toBe(0);
  const ended = await around.run(full, after);
  expect(ended).toMatchObject({ code: 0, err: expect.stringContaining("Attested") });
  const [made, ...more] = await around.list("attestations", agent);
  expect(more).toEqual([]);
  const { body } = await around.test.call("GET", `/v1/verify/${made.attestation_id}`, {
    key: around.key,
  });
  expect(body.human_approval.method).toBe("proof_of_personhood");
  return body.metadata;
}

let sessions = 0;

describe("a call whose approval is stopped while it runs", () => {
  const revoke = async (id: string) => {
    const path = `/v1/authorizations/${id}/revoke`;
    expect((await around.test.call("POST", path, { key: around.key, body: {} })).status).toBe(200);
  };

  it("is attested with a use that it had claimed of a standing approval, and says what stopped it", async () => {
    const { agent, argv, before, event } = newCall(around.folder);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const terms = { tools: ["Bash"], max_calls: 2, expires_at };
    const standing = { agent_slug: agent, action: "Run commands", grant: terms };
    const { made } = await ask(around.test, around.key, standing);
    await approveUnproven(around.test, made.request_id);
    expect(answerOf(await around.run(argv, before)).hookSpecificOutput.permissionDecision).toBe("allow");
    await revoke(made.request_id);
    expect(await around.run(argv, event("PostToolUse"))).toMatchObject({ code: 0 });
    const [attested, ...more] = await around.list("attestations", agent);
    expect(more).toEqual([]);
    const { body } = await around.test.call("GET", `/v1/verify/${attested.attestation_id}`);
    expect(body).toMatchObject({
      human_approval: { method: "standing_approval" },
      warnings: expect.arrayContaining([expect.objectContaining({ code: "approval_stopped" })]),
      metadata: { outcome: "completed" },
    });
  });

  it.each(["taken back", "frozen"])("is attested once, without an approval that is %s", async (what) => {
    const { agent, argv, before, event } = newCall(around.folder);
    const codex = [...argv, "--dialect", "codex"];
    const running = around.run(codex, before);
    const { requestId } = await openNext(around.test, around.key, agent);
    await approveUnproven(around.test, requestId);
    expect((await running).code).toBe(0);
    const reason = { key: around.key, body: { reason: "stop" } };
    if (what === "frozen") await around.test.call("POST", `/v1/identity/${agent}/freeze`, reason);
    else await revoke(requestId);
    expect(await around.run(codex, event("PostToolUse"))).toMatchObject({ code: 0 });
    expect(await around.run(codex, event("Stop"))).toEqual({ code: 0, out: "", err: "" });
    const [attested, ...more] = await around.list("attestations", agent);
    expect(more).toEqual([]);
    const { body } = await around.test.call("GET", `/v1/verify/${attested.attestation_id}`);
    expect(body).toMatchObject({
      human_approval: { method: "none" },
      metadata: { outcome: "unknown", approval: expect.stringContaining(what) },
    });
  });
});

it.each([
  ["claude", { tool_response: { backgroundTaskId: "b1" } }],
  ["qwen", { tool_input: { is_background: true }, tool_response: { llmContent: "Started.\nid: b1\n" } }],
])(
  "a call in the background ends without its approval, and names what used it: %s",
  async (dialect, more) => {
    const { agent, argv, eventWith } = newCall(around.folder);
    const full = [...argv, "--dialect", dialect];
    const running = around.run(full, eventWith("PreToolUse", more));
    await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
    expect((await running).code).toBe(0);
    expect(await around.run(full, eventWith("PostToolUse", more))).toMatchObject({ code: 0 });
    const stop = (ids: string[], env = {}) =>
      around.run(full, eventWith("Stop", { background_tasks: ids.map((id) => ({ id })) }), env);
    await stop(["b0", "b1"]);
    expect(await around.list("attestations", agent), "still listed").toHaveLength(1);
    expect(await stop([], { COUNTERSIGN_API_KEY: "wrong" }), "kept until it is attested").toMatchObject({
      code: 2,
    });
    for (const _ of ["a turn's end", "the next one"])
      expect(await stop([])).toEqual({ code: 0, out: "", err: "" });
    const [last, first, ...others] = await around.list("attestations", agent);
    expect(others).toEqual([]);
    const read = async ({ attestation_id: id }: { attestation_id: string }) =>
      (await around.test.call("GET", `/v1/verify/${id}`, { key: around.key })).body;
    const [started, ended] = [await read(first), await read(last)];
    expect([started.metadata, started.human_approval.method]).toEqual([
      { outcome: "started" },
      "proof_of_personhood",
    ]);
    expect(ended).toMatchObject({
      action: started.action,
      inputs_hash: started.inputs_hash,
      human_approval: { method: "none" },
      metadata: { outcome: "unknown", moment: "end" },
    });
    const { attestation_id: id, payload_hash, log } = started;
    const { parent } = JSON.parse(ended.payload).predicate.request;
    expect(parent).toEqual({ id, payload_hash, origin: log.origin });
  },
);

it("Codex's own question is answered for exactly the approved call, while it runs, and only if told to", async () => {
  const { agent, argv, event, eventWith } = newCall(around.folder);
  const codex = [...argv, "--dialect", "codex"];
  const prompt = (command: string, more: string[] = ["--answer-prompts"]) =>
    around.run(
      [...codex, ...more],
      eventWith(
        "PermissionRequest",
        { tool_use_id: undefined },
        { command, description: "it needs the network" },
      ),
    );
  const nothing = { code: 0, out: "", err: "" };
  expect(await prompt("git push"), "not approved").toEqual(nothing);
  const running = around.run(codex, event("PreToolUse"));
  const { requestId } = await openNext(around.test, around.key, agent);
  expect(await prompt("git push"), "not yet").toEqual(nothing);
  await approveUnproven(around.test, requestId);
  expect((await running).code).toBe(0);
  expect(answerOf(await prompt("git push"))).toEqual({
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } },
  });
  expect(await prompt("git push --force")).toEqual(nothing);
  expect(await prompt("git push", []), "its user is asked").toEqual(nothing);
  await around.run(codex, event("PostToolUse"));
  expect(await prompt("git push"), "it has ended").toEqual(nothing);
});

describe("an approved call is attested with its outcome", () => {
  const error = "Command failed with exit code 1 \ud83d";

  it.each([
    ["completed", "PostToolUse", { tool_response: { stdout: "", interrupted: false } }],
    ["failed", "PostToolUse", { tool_response: { stdout: "", interrupted: true } }],
    ["started", "PostToolUse", { tool_response: { stdout: "", backgroundTaskId: "b1" } }],
    ["started", "PostToolUse", { tool_name: "Monitor", tool_response: { taskId: "m1", timeoutMs: 0 } }],
    ["started", "PostToolUse", { tool_name: "Agent", tool_response: { status: "async_launched" } }],
    ["failed", "PostToolUseFailure", { error, is_interrupt: false }],
    ["failed", "PostToolUseFailure", { error }],
    ["failed", "PostToolUseFailure", { error, is_interrupt: true }],
  ])("%s: Claude Code, %s with %j", async (outcome, name, more) => {
    const { eventWith } = newCall(around.folder, "touch x; false");
    const before = eventWith("PreToolUse", "tool_name" in more ? { tool_name: more.tool_name } : {});
    expect(await approveAndEnd("claude", before, eventWith(name, more))).toEqual({ outcome });
  });

  it("unknown: Codex tells nothing of a failed call of an MCP server, until its turn ends", async () => {
    const { agent, argv, eventWith, event } = newCall(around.folder);
    const codex = [...argv, "--dialect", "codex"];
    const running = around.run(codex, eventWith("PreToolUse", { tool_name: "mcp__bank__pay" }));
    await approveUnproven(around.test, (await openNext(around.test, around.key, agent)).requestId);
    expect((await running).code).toBe(0);
    const other = await around.run(codex, event("Stop").replace("session-1", "session-2"));
    expect(other).toEqual({ code: 0, out: "", err: "" });
    const ended = await around.run(codex, event("Stop"));
    expect(ended).toMatchObject({ code: 0, out: "", err: expect.stringContaining("Attested") });
    const [made, ...more] = await around.list("attestations", agent);
    expect(more).toEqual([]);
    const { body } = await around.test.call("GET", `/v1/verify/${made.attestation_id}`);
    expect([body.metadata, body.human_approval.method]).toEqual([
      { outcome: "unknown" },
      "proof_of_personhood",
    ]);
    expect(await around.run(codex, event("Stop")), "once").toEqual({ code: 0, out: "", err: "" });
  });

  it("unknown: Codex has one event for both", async () => {
    const { before, eventWith } = newCall(around.folder, "touch x; false");
    const after = eventWith("PostToolUse", { tool_response: "Process exited with code 1" });
    expect(await approveAndEnd("codex", before, after)).toEqual({ outcome: "unknown" });
  });

  const textOf = (textResultForLlm: string) => ({
    toolResult: { resultType: "success", textResultForLlm },
  });

  it.each([
    ["completed", textOf("ok\n<exited with exit code 0>")],
    ["failed", textOf("<exited with exit code 0>\n<shellId: 1 completed with exit code 3>\n")],
    ["unknown", textOf("exit code 0")],
    ["failed", { toolResult: { resultType: "failure", textResultForLlm: "" } }],
    ["failed", { error }],
    ["completed", { toolName: "create", ...textOf("") }],
    ["started", { toolArgs: { command: "x", mode: "async" }, ...textOf("<command started>") }],
  ])("%s: Copilot with %j", async (outcome, more) => {
    sessions += 1;
    const call = {
      sessionId: `s${sessions}`,
      cwd: around.folder,
      toolName: "bash",
      toolArgs: { command: "x" },
    };
    const { toolResult, error: failure, ...changed } = { toolResult: undefined, error: undefined, ...more };
    const before = JSON.stringify({ ...call, ...changed });
    const after = JSON.stringify({ ...call, ...changed, toolResult, error: failure });
    expect(await approveAndEnd("copilot", before, after)).toEqual({ outcome });
  });

  const endOf = (...lines: string[]) => ({ llmContent: ["Output: x", ...lines].join("\n") });
  const group = "Process Group PGID: 7";

  it.each([
    ["completed", endOf(group)],
    ["completed", { llmContent: [{ text: `Output: (empty)\nExit Code: 0\nSignal: (none)\n${group}` }] }],
    ["failed", endOf("Exit Code: 3", group)],
    ["failed", endOf("Exit Code: 0", "Exit Code: 3", group)],
    ["failed", endOf("Exit Code: 0", "Signal: 9", group)],
    ["unknown", endOf("Exit Code: 0")],
    ["unknown", endOf("… cut")],
    ["started", { llmContent: "Command moved to background (PID: 7). Output hidden." }],
    ["started", endOf("Background PIDs: 8", group)],
    ["failed", { llmContent: "", error: { message: "exit 1" } }],
  ])("%s: Gemini with %j", async (outcome, tool_response) => {
    sessions += 1;
    const call = {
      session_id: `s${sessions}`,
      cwd: around.folder,
      tool_name: "run_shell_command",
      tool_input: {},
    };
    const before = JSON.stringify({ ...call, hook_event_name: "BeforeTool" });
    const after = JSON.stringify({ ...call, hook_event_name: "AfterTool", tool_response });
    expect(await approveAndEnd("gemini", before, after)).toEqual({ outcome });
  });
});
