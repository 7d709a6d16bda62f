/** Guarantee: a hook of type http that comes to the service is what the command is, in its agent's words, and never lets a call pass by a failure. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashInputs } from "#lib/client/api/inputs";
import { approveUnproven, openNext } from "#support/authorizations";
import { newCall } from "#support/hook-process";
import { type Listening, listenFor } from "#support/listen";
import { setupTestApp } from "#support/setup-app";
import { answerHook } from "./agent-hook";

const { test, key } = setupTestApp();
let [hookKey, recordKey, readKey] = ["", "", ""];
let service: Listening;
beforeAll(async () => {
  const make = async (...scopes: ("hook" | "record" | "read")[]) =>
    (await test.createKey("dev@example.com", scopes)).key;
  [hookKey, recordKey, readKey] = [await make("hook"), await make("hook", "record"), await make("read")];
  service = await listenFor(test);
});
afterAll(() => service.close());

const url = (agent: string, more = "") => `/v1/hook?agent=${agent}${more}`;
const send = async (target: string, event: string, apiKey = hookKey) => {
  const { status, body } = await test.call("POST", target, { key: apiKey, rawBody: event });
  return { status, said: body };
};
const list = async (what: "attestations" | "authorizations", agent: string) =>
  (await test.call("GET", `/v1/${what}?agent_slug=${agent}`, { key })).body[what];

describe("a hook that comes to the service", () => {
  it("waits for a human, allows exactly what was approved, and attests how it ended", async () => {
    const { agent, before, event } = newCall("/work");
    const running = send(url(agent, "&ask=Bash(git push*),Write"), before);
    const asked = await openNext(test, key, agent);
    expect(asked.context).toEqual({ command: "git push" });
    await approveUnproven(test, asked.requestId);
    expect(await running).toEqual({
      status: 200,
      said: {
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "allow",
          permissionDecisionReason: expect.any(String),
          updatedInput: { command: "git push" },
        },
      },
    });
    const ended = await send(url(agent, "&ask=Bash"), event("PostToolUse"));
    const [made, ...more] = await list("attestations", agent);
    expect(more).toEqual([]);
    expect(ended).toEqual({ status: 200, said: { systemMessage: `Attested: ${made.public_url}` } });
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`, { key });
    expect(body).toMatchObject({
      human_approval: { method: "proof_of_personhood", inputs_bound: true },
      metadata: { outcome: "completed" },
    });
  });

  it("blocks a call where it breaks itself", async () => {
    const { agent, before } = newCall("/work");
    const headers = new Headers();
    const request = { method: "POST", url: "", headers, body: new Blob([before]).stream() };
    // The schema has no number here.
    const call = { query: { agent, ask: 7 }, request, ip: "127.0.0.1", context: test.app.context };
    const broken = await answerHook(call as never, () => Promise.reject(new Error("nothing is asked")));
    expect(JSON.parse(await broken.text()).hookSpecificOutput).toMatchObject({
      permissionDecision: "deny",
      permissionDecisionReason: "countersign: this hook failed.",
    });
  });

  it("answers in the words of its agent, and has no opinion about a call that nobody asks about", async () => {
    const { agent, before } = newCall("/work");
    expect(await send(url(agent, "&ask=Write"), before)).toEqual({ status: 200, said: {} });
    const event = {
      session_id: "s",
      hook_event_name: "BeforeTool",
      tool_name: "run_shell_command",
      tool_input: {},
    };
    const answer = await send(url(agent, "&dialect=gemini&timeout=1"), JSON.stringify(event));
    expect(answer.said).toMatchObject({
      decision: "deny",
      reason: expect.stringContaining("No human decided"),
    });
    expect((await list("authorizations", agent)).map(({ status }: { status: string }) => status)).toEqual([
      "cancelled",
    ]);
  });

  it("attests what it only records once, privately and with a title", async () => {
    const { agent, event } = newCall("/work", "echo sk-abcdefghijklmnopqrstuvwx");
    for (const _ of ["first", "again"])
      expect(await send(url(agent, "&record=*"), event("PostToolUse"), recordKey)).toEqual({
        status: 200,
        said: {},
      });
    const [made, ...more] = await list("attestations", agent);
    expect(more).toEqual([]);
    expect(made).toMatchObject({
      is_public: false,
      inputs_hash: hashInputs({ command: "echo sk-abcdefghijklmnopqrstuvwx" }),
    });
    const refused = await send(url(newCall("/work").agent, "&record=*"), event("PostToolUse"));
    expect(refused.said.systemMessage, "its key may not").toMatch(/permission/);
  });

  it.each([
    ["no event", "", ""],
    ["an event that is cut off", "", '{"hook_event_name":"PreToolUse"'],
    ["an unknown event", "", '{"hook_event_name":"Other","session_id":"s"}'],
    ["an unknown agent's dialect", "&dialect=other", null],
    ["a pattern that asks nobody", "&ask=apply_patch", null],
    ["no end of its time", "&timeout=soon", null],
  ])("denies with %s", async (_, more, text) => {
    const { agent, before } = newCall("/work");
    const { status, said } = await send(url(agent, more), text ?? before);
    expect(status).toBe(200);
    expect(said.hookSpecificOutput).toMatchObject({
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringMatching(/^countersign: /),
    });
  });

  it("needs a key that may ask, and knows its options", async () => {
    const { agent, before } = newCall("/work");
    expect((await test.call("POST", url(agent), { rawBody: before })).status).toBe(401);
    expect((await test.call("POST", url(agent), { key: readKey, rawBody: before })).status).toBe(403);
    expect(
      (await test.call("POST", url(agent, "&key_file=x"), { key: hookKey, rawBody: before })).status,
    ).toBe(400);
  });

  it("cancels its request if the agent goes away, so that nobody approves what can't run", async () => {
    const { agent, before } = newCall("/work");
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${hookKey}` };
    const { signal } = gone;
    const running = fetch(`${service.base}${url(agent)}`, { method: "POST", headers, body: before, signal })
      .then((answer) => answer.text())
      .catch(() => "gone");
    await openNext(test, key, agent);
    gone.abort();
    expect(await running).toBe("gone");
    await expect.poll(async () => (await list("authorizations", agent))[0].status).toBe("cancelled");
  });
});
