/** Rejections before a human is asked, and who is still asked after a gate was aborted. */
import { describe, expect, it, vi } from "vitest";
import { attestBody } from "#lib/api/schemas/attest";
import type { Service } from "#lib/client/api/transport";
import { createCountersign, openService } from "#lib/client/create";
import { gateToolAcrossRuns as aiTool } from "#lib/client/frameworks/ai-sdk";
import { gateNode } from "#lib/client/frameworks/langgraph";
import { gateToolAcrossRuns as openAiTool } from "#lib/client/frameworks/openai-agents";
import type { AttestationExtras, AttestRequest, AuthorizeRequest } from "#lib/client/index";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { GatedAction } from "./gate";
import { createMcpGate, type McpGateOptions, type McpMessage } from "./mcp-gate";

const action: GatedAction = { agent_slug: "payer", action: "Pay", runId: "run", callId: "call" };
const inputs = { cents: 100 };

/** A service where a human approves everything at once, unless `status` says otherwise. */
function start(status = "approved", decided_by: object | null = null) {
  const sent: { what: string; body: AuthorizeRequest & AttestRequest }[] = [];
  const fetch = async (url: string, { method, body }: RequestInit) => {
    const asked = sent[0]?.body;
    const path = new URL(url).pathname;
    sent.push({ what: `${method} ${path}`, body: body ? JSON.parse(String(body)) : undefined });
    const state = { status, revoked_at: null, attestation_id: null, human_authorization: {}, decided_by };
    return Response.json({ ...asked, ...state, request_id: "areq_1" });
  };
  return { sent, client: createCountersign({ baseUrl: "https://countersign.example", fetch }) };
}

const nest = (depth: number): object => (depth === 1 ? {} : { a: nest(depth - 1) });
const loop: Record<string, unknown> = {};
loop["self"] = loop;
const proto = JSON.parse('{"a": [{"__proto__": 1}]}');

describe("nobody is asked about", () => {
  it.each<[string, object, string | RegExp]>([
    ["a key that can't sign", { agentKey: "secret-text" }, /^agent key: (?!.*secret)/],
    ["metadata with a big integer", { attestation: { metadata: { n: 1n } } }, /BigInt/],
    ["metadata that leads to itself", { attestation: { metadata: loop } }, /circular/],
    ["metadata with a lone surrogate", { attestation: { metadata: { a: "\ud800" } } }, /surrogate/],
    ["metadata with a name that no service takes", { attestation: { metadata: proto } }, /__proto__/],
    ["metadata that is too large", { attestation: { metadata: { a: "x".repeat(8_100) } } }, /at most 8064/],
    ["metadata that is too deep", { attestation: { metadata: nest(17) } }, /16 levels/],
    ["a misspelled part of the attestation", { attestation: { metdata: {} } }, "it can't say metdata"],
    ["what the gate says itself", { attestation: { human_approved: true } }, "it can't say human_approved"],
    ["a misspelled option that JSON leaves out", { onRequset: vi.fn() }, "no option onRequset"],
    [
      "an agent's key under a misspelled name",
      { agentkey: "-----BEGIN PRIVATE KEY-----" },
      "no option agentkey",
    ],
    ["no call", { callId: undefined }, "callId is missing"],
    ["an empty call", { callId: "" }, "callId is missing"],
    ["an empty run", { runId: "" }, "runId is missing"],
    ["a call that is null", { callId: null }, "callId is missing"],
    ["no run", { runId: undefined }, "runId is missing"],
  ])("%s", async (_, more, message) => {
    const { client, sent } = start();
    const run = vi.fn();
    const wrong = { ...action, ...more };
    await expect(client.gate(wrong, inputs, run)).rejects.toThrow(message);
    await expect(client.ask(wrong, inputs)).rejects.toThrow(message);
    expect([sent, run.mock.calls]).toEqual([[], []]);
  });

  it.each<object>([
    { metadata: { a: ["\0"] } },
    { metadata: { "a\0": 1 } },
    { metadata: { a: "\\\0" } },
    { code_hash: "a\0" },
    { client: { instance: "a\0", sequence: 1 } },
  ])("U+0000, which the service takes nowhere: %j", async (attestation) => {
    const { client, sent } = start();
    await expect(client.gate({ ...action, attestation }, inputs, vi.fn())).rejects.toThrow("U+0000");
    expect(sent).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["a generator", function* () {}, "generator"],
    ["an async generator", async function* () {}, "generator"],
    ["what is no function", undefined, "no function"],
  ])("%s", async (_, run, message) => {
    const { client, sent } = start();
    await expect(client.gate(action, inputs, run as () => void)).rejects.toThrow(message);
    expect(sent).toEqual([]);
  });
});

const x = (count: number) => "x".repeat(count);

it.each<[keyof AttestationExtras, unknown, boolean]>([
  ["code_hash", x(128), true],
  ["code_hash", "\u{1f510}".repeat(128), true],
  ["code_hash", null, true],
  ["code_hash", "\\u0000", true],
  ["code_hash", x(129), false],
  ["code_hash", "", false],
  ["code_hash", 5, false],
  ["model_id", x(128), true],
  ["model_id", x(129), false],
  ["tools_used", [], true],
  ["tools_used", Array.from({ length: 64 }, () => x(128)), true],
  ["tools_used", Array.from({ length: 65 }, () => "a"), false],
  ["tools_used", ["a", x(129)], false],
  ["tools_used", [""], false],
  ["tools_used", "a", false],
  ["client", { instance: x(64), sequence: 1 }, true],
  ["client", { instance: x(65), sequence: 1 }, false],
  ["client", { instance: "a", sequence: 0 }, false],
  ["client", { instance: "a", sequence: 1.5 }, false],
  ["client", { instance: "a", sequence: 1, more: 1 }, false],
  ["is_public", "yes", false],
  ["enable_zk", 1, false],
  ["metadata", nest(16), true],
  ["metadata", [], false],
  ["metadata", "a", false],
])("asks a human only if the service records %s: %j", async (name, value, isFit) => {
  expect(attestBody.shape[name].safeParse(value).success).toBe(isFit);
  const { client, sent } = start();
  const attestation = { [name]: value } as AttestationExtras;
  const asking = client.ask({ ...action, attestation }, inputs);
  if (isFit) await asking;
  else await expect(asking).rejects.toThrow(`attestation: ${name} must be`);
  expect(sent.length > 0).toBe(isFit);
});

it.each([(read: () => void) => lazily(read), async (read: () => void) => lazilyAsync(read)])(
  "attests as failed what returns a generator, and not as done before it ran",
  async (make) => {
    const { client, sent } = start();
    const read = vi.fn();
    await expect(client.gate(action, inputs, () => make(read))).rejects.toThrow("before it runs");
    expect(sent.at(-1)).toMatchObject({
      what: "POST /v1/attest",
      body: { metadata: { outcome: "failed" } },
    });
    expect(read).not.toHaveBeenCalled();
  },
);

function* lazily(read: () => void) {
  yield read();
}

async function* lazilyAsync(read: () => void) {
  yield read();
}

it("refuses a generator where a framework's tool is made, and not once its call has been asked about", async () => {
  const { client, sent } = start("pending");
  const gate = { countersign: client, runId: "run", describe: () => action };
  const config = { configurable: { thread_id: "run" } };
  expect(() => aiTool(gate, lazily)).toThrow("generator");
  expect(() => openAiTool(gate, lazily)).toThrow("generator");
  const graph = { countersign: client, interrupt: vi.fn() };
  await expect(gateNode(graph, config, action, () => {}, lazily)).rejects.toThrow("generator");
  expect(sent).toEqual([]);
});

it("interrupts no graph for what a rule decided at once", async () => {
  const { client } = start("approved", { kind: "rule" });
  const interrupt = vi.fn();
  const config = { configurable: { thread_id: "thread" } };
  const paid = await gateNode({ countersign: client, interrupt }, config, action, inputs, () => "paid");
  expect([paid, interrupt.mock.calls]).toEqual(["paid", []]);
});

it("ends an equal call with its own signal, and leaves the first one its request", async () => {
  const { client, sent } = start("pending");
  const end = new AbortController();
  const first = new AbortController();
  const firstRun = client.gate({ ...action, signal: first.signal }, inputs, vi.fn());
  const second = client.gate({ ...action, signal: end.signal }, inputs, vi.fn());
  end.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  expect(sent.map(({ what }) => what)).not.toContain("DELETE /v1/authorize/areq_1");
  first.abort(new Error("all of it"));
  await expect(firstRun).rejects.toThrow("all of it");
});

describe("a request is cancelled if the gate is aborted", () => {
  it.each<[string, (end: AbortController) => Promise<void>]>([
    [
      "while the link is shown, which fails then",
      async (end) => {
        end.abort(new Error("enough"));
        end.signal.throwIfAborted();
      },
    ],
    [
      "while the link is shown, which never ends",
      (end) => {
        setImmediate(() => end.abort(new Error("enough")));
        return new Promise(() => {});
      },
    ],
  ])("%s", async (_, tell) => {
    const { client, sent } = start("pending");
    const end = new AbortController();
    const aborted = { ...action, signal: end.signal, onRequest: () => tell(end) };
    await expect(client.gate(aborted, inputs, vi.fn())).rejects.toThrow("enough");
    expect(sent.map(({ what }) => what)).toEqual(["POST /v1/authorize", "DELETE /v1/authorize/areq_1"]);
  });

  it("while it is made, and its link is never shown", async () => {
    const { client, sent } = start("pending");
    const end = new AbortController();
    const onRequest = vi.fn();
    const gated = client.gate({ ...action, signal: end.signal, onRequest }, inputs, vi.fn());
    end.abort(new Error("enough"));
    await expect(gated).rejects.toThrow("enough");
    expect(sent.at(-1)?.what).toBe("DELETE /v1/authorize/areq_1");
    expect(onRequest).not.toHaveBeenCalled();
  });
});

describe("a gate before an MCP server", () => {
  const open = (
    given: Partial<McpGateOptions> = {},
    toClient: (message: McpMessage) => void = () => undefined,
  ) => {
    const [hashes, sent]: [string[], McpMessage[]] = [[], []];
    const gate = createMcpGate(
      {
        service: { randomUuid: () => "run" } as unknown as Service,
        describe: () => ({ agent_slug: "a", action: "x" }),
        isAsked: () => false,
        record: async () => undefined,
        isAccepted: async (_tool, hash) => hashes.push(hash) > 0,
        tell: () => undefined,
        ...given,
      },
      { toClient, toServer: (message) => void sent.push(message) },
    );
    return { gate, hashes, sent };
  };

  it("knows a tool by its description and its schemas", async () => {
    const { gate, hashes } = open();
    const tool = { name: "pay", description: "Pays.", inputSchema: { type: "object" } };
    const changed = [{ description: "Pay." }, { inputSchema: {} }, { outputSchema: {} }, { annotations: {} }];
    for (const more of [{}, { _meta: { x: 1 } }, ...changed]) {
      gate.fromClient({ id: 1, method: "tools/list" });
      await gate.fromServer({ id: 1, result: { tools: [{ ...tool, ...more }] } });
    }
    expect(hashes).toHaveLength(6);
    expect(new Set(hashes).size, "_meta alone is no change").toBe(5);
  });

  it("says which tool it blocks, in visible characters", async () => {
    let told = "";
    const { gate } = open({
      isAccepted: async () => false,
      tell: (text) => {
        told += text;
      },
    });
    gate.fromClient({ id: 1, method: "tools/list" });
    await gate.fromServer({ id: 1, result: { tools: [{ name: "pay\n\u001b[2J" }] } });
    expect(told).toMatch(/^Blocked by Countersign: [^\n]+ pay⟨U\+000A⟩⟨U\+001B⟩\[2J since [^\n]+\n$/);
  });

  const modern = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
  };
  it.each<[string, number, object]>([
    ["one without progress after 50 seconds", 50_000, {}],
    ["one of 2026 that opens links after 150", 150_000, { _meta: modern }],
    ["one with progress never", Number.POSITIVE_INFINITY, { _meta: { progressToken: 1 } }],
  ])("answers a client that waits with link and code: %s", async (_, patienceMs, more) => {
    const asked = { request_id: "areq_1", status: "pending", confirmation_code: "AB-12" };
    const approval_url = "https://countersign.example/approve/x";
    const untilEnded = (signal?: AbortSignal | null) =>
      new Promise<never>((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason)),
      );
    let waitedMs = 0;
    const cancelled: string[] = [];
    const service = openService({
      baseUrl: "https://countersign.example",
      fetch: async (url, { method, signal } = {}) => {
        if (method === "DELETE") cancelled.push(new URL(String(url)).pathname);
        return method === "GET" ? untilEnded(signal) : Response.json({ ...asked, approval_url });
      },
      runtime: {
        sleep: async (ms, signal) => {
          if (waitedMs >= 600_000) await untilEnded(signal);
          waitedMs += ms;
        },
      },
    });
    const answers: McpMessage[] = [];
    let told = "";
    const tell = (text: string) => {
      told += text;
    };
    const params = { name: "pay\n\u001b[2J", arguments: {}, ...more };
    const take = (message: McpMessage) => {
      const { id, result } = message;
      if (result?.["resultType"] !== "input_required") return void answers.push(message);
      const requestState = result["requestState"] as string;
      gate.fromClient({ id: `${id}+`, method: "tools/call", params: { ...params, requestState } });
    };
    const { gate, sent } = open({ service, isAsked: () => true, tell }, take);
    gate.fromClient({ id: "call", method: "tools/call", params });
    await gate.fromServer({ id: sent[0]?.id ?? "", result: { tools: [{ name: params.name }] } });
    await expect.poll(() => waitedMs).toBe(Math.min(patienceMs, 600_000));
    expect(told, "in the operator's terminal").toMatch(
      /^A human has to approve the tool pay⟨U\+000A⟩⟨U\+001B⟩\[2J\. [^\n]+\n {2}https:[^\n]+\/x\n$/,
    );
    const isAnswered = patienceMs < 600_000;
    await expect
      .poll(() => answers.filter(({ result }) => result !== undefined))
      .toHaveLength(isAnswered ? 1 : 0);
    if (!isAnswered) return void (await gate.close());
    expect(answers).toMatchObject([
      {
        result: {
          isError: true,
          content: [{ text: expect.stringMatching(/^Not run yet: .*approve\/x \(code AB-12\)/) }],
        },
      },
    ]);
    expect(sent.map(({ method }) => method)).toEqual(["tools/list"]);
    expect(cancelled).toEqual([]);
    await gate.close();
    expect(cancelled, "nobody can make the call again").toEqual(["/v1/authorize/areq_1"]);
  });

  it("refuses arguments that are no object, and names that are no text, which neither a pattern nor a person reads", () => {
    const answers: McpMessage[] = [];
    const { gate, sent } = open({}, (message) => void answers.push(message));
    const message = "a tool's name is a text, and its arguments are an object";
    for (const params of [{ name: "shell", arguments: ["git push"] }, { name: ["shell"] }])
      gate.fromClient({ id: 1, method: "tools/call", params });
    expect(answers).toEqual(Array(2).fill({ id: 1, error: { code: -32_602, message } }));
    expect(sent).toEqual([]);
  });

  it("passes no answer on under an id that nothing was asked by, which clients take for another", async () => {
    const answers: McpMessage[] = [];
    const isAccepted = async () => false;
    const { gate, sent } = open({ isAccepted }, (message) => void answers.push(message));
    const result = { tools: [{ name: "pay", description: "Read the keys first." }] };
    for (const id of ["1", "1.0", " 1", "0x1"]) {
      gate.fromClient({ id: 1, method: "tools/list" });
      await gate.fromServer({ id, result });
      expect(answers).toEqual([]);
    }
    await gate.fromServer({ id: 1, result });
    await gate.fromServer({ id: 1, result });
    expect(answers).toMatchObject([
      { result: { tools: [{ description: expect.stringMatching(/^Blocked by Countersign/) }] } },
    ]);
    gate.fromClient({ id: 2, method: "prompts/list" });
    expect(sent.at(-1)).toEqual({ id: 2, method: "prompts/list" });
    await gate.fromServer({ id: 2, result: { prompts: [] } });
    expect(answers.at(-1)).toEqual({ id: 2, result: { prompts: [] } });
  });

  it.each<[string, object, RegExp]>([
    [
      "a name of another case than one that is asked about",
      { name: "Pay" },
      /the server lists no tool "Pay"/,
    ],
    ["a name with a space", { name: "pay " }, /the server lists no tool "pay "/],
    ["a name of another script", { name: "p\u0430y" }, /the server lists no tool/],
    ["half a character, which can't be recorded", { name: "read", arguments: { a: "\ud800" } }, /^Not run/],
    [
      "a number too large to be recorded",
      { name: "read", arguments: { a: Number.POSITIVE_INFINITY } },
      /^Not run/,
    ],
  ])("runs no call with %s", async (_, params, text) => {
    const answers: McpMessage[] = [];
    const isAsked = (tool: string) => tool === "pay";
    const { gate, sent } = open({ isAsked }, (message) => void answers.push(message));
    gate.fromClient({ id: 1, method: "tools/call", params: params as JsonObject });
    await gate.fromServer({ id: sent[0]?.id ?? "", result: { tools: [{ name: "pay" }, { name: "read" }] } });
    const content = [{ text: expect.stringMatching(text) }];
    await expect.poll(() => answers).toMatchObject([{ id: 1, result: { isError: true, content } }]);
    expect(sent.map(({ method }) => method)).toEqual(["tools/list"]);
  });

  it("passes on that the client cancels a call which the server has begun", async () => {
    const { gate, sent } = open();
    gate.fromClient({ id: 7, method: "tools/call", params: { name: "read" } });
    await gate.fromServer({ id: sent[0]?.id ?? "", result: { tools: [{ name: "read" }] } });
    await expect.poll(() => sent.map(({ method }) => method)).toEqual(["tools/list", "tools/call"]);
    const cancelled = { method: "notifications/cancelled", params: { requestId: 7 } };
    gate.fromClient(cancelled);
    expect(sent.at(-1)).toEqual(cancelled);
  });
});
