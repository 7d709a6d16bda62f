/** What became of a call that was approved: every one is attested, and says whether it failed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveUnproven, openNext } from "#support/authorizations";
import { type HookTest, newCall, startHookTest } from "#support/hook-process";

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

describe("an approved call is attested with its outcome", () => {
  const error = "Command failed with exit code 1 \ud83d";

  it.each([
    ["completed", "PostToolUse", { tool_response: { stdout: "", interrupted: false } }],
    ["interrupted", "PostToolUse", { tool_response: { stdout: "", interrupted: true } }],
    ["failed", "PostToolUseFailure", { error, is_interrupt: false }],
    ["failed", "PostToolUseFailure", { error }],
    ["interrupted", "PostToolUseFailure", { error, is_interrupt: true }],
  ])("%s: Claude Code, %s with %j", async (outcome, name, more) => {
    const { before, eventWith } = newCall(around.folder, "touch x; false");
    expect(await approveAndEnd("claude", before, eventWith(name, more))).toEqual({ outcome });
  });

  it("unknown: Codex has one event for both", async () => {
    const { before, eventWith } = newCall(around.folder, "touch x; false");
    const after = eventWith("PostToolUse", { tool_response: "Process exited with code 1" });
    expect(await approveAndEnd("codex", before, after)).toEqual({ outcome: "unknown" });
  });

  it.each([
    ["completed", { toolResult: { resultType: "success", textResultForLlm: "" } }],
    ["failed", { toolResult: { resultType: "failure", textResultForLlm: "" } }],
    ["failed", { error }],
  ])("%s: Copilot with %j", async (outcome, more) => {
    sessions += 1;
    const call = {
      sessionId: `s${sessions}`,
      cwd: around.folder,
      toolName: "bash",
      toolArgs: { command: "x" },
    };
    const after = JSON.stringify({ ...call, ...more });
    expect(await approveAndEnd("copilot", JSON.stringify(call), after)).toEqual({ outcome });
  });

  it.each([
    ["completed", { llmContent: "", returnDisplay: "" }],
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
