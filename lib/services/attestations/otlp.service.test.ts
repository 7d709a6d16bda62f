/** Guarantee: what real exporters send is recorded once, says that a trace reported it, and gives no secret away. */
import { gzipSync } from "node:zlib";
import { LegacyOpenTelemetry, OpenTelemetry } from "@ai-sdk/otel";
import { SpanStatusCode } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { LoggerProvider, type ReadableLogRecord, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import {
  BatchSpanProcessor,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import * as six from "ai";
import * as seven from "ai-7";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { hashInputs } from "#lib/client/api/inputs";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { decodeProtobuf, type Message } from "#lib/protocol/encoding/protobuf";
import { fetchFrom } from "#support/client";
import { anyKind } from "#support/databases";
import { listenFor } from "#support/listen";
import { modelOfAiSdk6, modelOfAiSdk7 } from "#support/mock-models";
import { setupTestApp } from "#support/setup-app";

const { test } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "1000" });
let [key, recordKey, attestKey] = ["", "", ""];
beforeAll(async () => {
  ({ key } = await test.createKey());
  ({ key: recordKey } = await test.createKey("dev@example.com", ["record"]));
  ({ key: attestKey } = await test.createKey("dev@example.com", ["attest"]));
});

type Signal = "traces" | "logs";
const serializers = {
  traces: { protobuf: ProtobufTraceSerializer, json: JsonTraceSerializer },
  logs: { protobuf: ProtobufLogsSerializer, json: JsonLogsSerializer },
} as const;
type Encoding = "protobuf" | "json";
const encodings: Encoding[] = ["protobuf", "json"];
const mediaTypes = { protobuf: "application/x-protobuf", json: "application/json" };

let agents = 0;
const nameAgent = () => {
  agents += 1;
  return `traced-${agents}`;
};

type Attributes = Record<string, string | number | boolean | number[]>;
interface Done {
  attributes: Attributes;
  name?: string;
  isFailed?: boolean;
}

/** Spans that a tracer made of these. */
function makeSpans(resource: Attributes, done: readonly Done[]): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const exporter = {
    export: (ended: ReadableSpan[], answer: (result: { code: number }) => void) => {
      spans.push(...ended);
      answer({ code: 0 });
    },
    shutdown: async () => {},
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  for (const { attributes, name = "execute_tool", isFailed = false } of done) {
    const span = provider.getTracer("test").startSpan(name, { attributes });
    if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
  return spans;
}

const toolCall = (more: Attributes = {}): Done => ({
  attributes: {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "pay",
    "gen_ai.tool.call.arguments": '{"to":"Ada","cents":10000}',
    ...more,
  },
});

const serialize = (encoding: Encoding, spans: ReadableSpan[]) =>
  serializers.traces[encoding].serializeRequest(spans) as Uint8Array;

async function send(
  encoding: Encoding,
  bytes: Uint8Array | string,
  { signal = "traces" as Signal, as = recordKey, headers = {} as Record<string, string> } = {},
) {
  const sent = { "content-type": mediaTypes[encoding], ...headers };
  const response = await fetchFrom(test)(`http://localhost:3000/v1/otlp/v1/${signal}`, {
    method: "POST",
    headers: { ...sent, ...(as !== "" && { authorization: `Bearer ${as}` }) },
    body: bytes as BodyInit,
  });
  const body = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get("content-type")?.split(";")[0];
  return { status: response.status, headers: response.headers, type, body };
}

const read = (encoding: Encoding, { body }: { body: Uint8Array }, message: Message): JsonObject =>
  encoding === "json" ? JSON.parse(new TextDecoder().decode(body)) : decodeProtobuf(body, message);

const gzipped = { "content-encoding": "gzip" };

/** First to last. */
async function list(agent: string): Promise<JsonObject[]> {
  const { body } = await test.call("GET", `/v1/attestations?agent_slug=${agent}&limit=100`, { key });
  const ids = body.attestations.map((one: { attestation_id: string }) => one.attestation_id);
  const made = await Promise.all(
    ids.map(async (id: string) => (await test.call("GET", `/v1/verify/${id}`, { key })).body),
  );
  return made.sort((a, b) => a.record.sequence - b.record.sequence);
}
const predicateOf = ({ payload }: JsonObject) => JSON.parse(String(payload)).predicate;

describe("a tool's span", () => {
  it.each(encodings)("becomes a private attestation that says so: %s", async (encoding) => {
    const agent = nameAgent();
    const secret = "sk-abcdefghijklmnopqrstuvwx";
    const input = { command: `curl -H 'Authorization: Bearer ${secret}' https://example.com` };
    const call = {
      "gen_ai.tool.name": "Bash",
      "gen_ai.tool.call.arguments": JSON.stringify(input),
      "gen_ai.tool.call.result": secret,
      "gen_ai.tool.call.id": "call-1",
      "gen_ai.conversation.id": "session-1",
      "gen_ai.agent.name": "Payer",
    };
    const spans = makeSpans({ "countersign.agent": agent, "service.name": "shop" }, [
      { name: "chat", attributes: { "gen_ai.operation.name": "chat", "gen_ai.input.messages": secret } },
      { ...toolCall(call), isFailed: true },
    ]);
    const sent = await send(encoding, gzipSync(serialize(encoding, spans)), { headers: gzipped });
    expect([sent.status, sent.type, sent.body.length]).toEqual([
      200,
      mediaTypes[encoding],
      encoding === "json" ? 2 : 0,
    ]);
    const [made, ...more] = await list(agent);
    expect(more).toEqual([]);
    const context = spans[1]?.spanContext();
    expect(made).toMatchObject({
      valid: true,
      action: "Use the tool Bash",
      inputs_hash: hashInputs(input),
      is_public: false,
      tools_used: ["Bash"],
      agent_authenticated: null,
      human_approval: { method: "none" },
      metadata: {
        title: "curl -H 'Authorization: Bearer •••' https://example.com",
        outcome: "failed",
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        started_at: expect.stringMatching(/^\d{4}-.*Z$/),
        session: "session-1",
        call: "call-1",
        agent: "Payer",
      },
      warnings: [{ code: "reported_by_trace", message: expect.stringContaining("not the agent itself") }],
    });
    expect(predicateOf(made as JsonObject).trace).toEqual({
      signal: "span",
      trace_id: context?.traceId,
      span_id: context?.spanId,
    });
    expect(JSON.stringify(made)).not.toContain(secret);
  });

  it("is public only if the resource says so, and its agent is the service's name if none is set", async () => {
    const agent = nameAgent();
    const resource = { "service.name": `_ ${agent} !`, "countersign.public": "true" };
    await send("protobuf", serialize("protobuf", makeSpans(resource, [toolCall()])));
    expect(await list(`${agent}-`)).toMatchObject([{ is_public: true }]);
    for (const [warnings, count] of [
      ["true", 0],
      ["false", 1],
    ] as const) {
      const own = await test.call("GET", `/v1/attestations?agent_slug=${agent}-&warnings=${warnings}`, {
        key,
      });
      const feed = await test.call("GET", `/v1/agent/${agent}-?warnings=${warnings}`);
      expect([own.body.attestations.length, feed.body.attestations.length]).toEqual([count, count]);
    }
  });

  it.each<[string, Done, JsonObject]>([
    [
      "OpenInference",
      {
        attributes: { "openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": '{"to":"Ada"}' },
      },
      { action: "Use the tool pay", inputs_hash: hashInputs({ to: "Ada" }) },
    ],
    [
      "an agent of OpenInference",
      { attributes: { "openinference.span.kind": "AGENT", "agent.name": "Payer", "input.value": "pay Ada" } },
      { action: "Invoke the agent Payer", inputs_hash: hashInputs("pay Ada"), tools_used: null },
    ],
    [
      "invoke_agent without its messages",
      { name: "invoke_agent Payer", attributes: { "gen_ai.operation.name": "invoke_agent" } },
      { action: "Invoke the agent Payer", inputs_hash: "unreported" },
    ],
    [
      "Claude Code, whose span of a tool never has a status",
      toolCall({ "span.type": "tool" }),
      { action: "Use the tool pay", metadata: { outcome: "unknown" } },
    ],
  ])("is known in the words of %s", async (_, done, expected) => {
    const agent = nameAgent();
    await send("json", serialize("json", makeSpans({ "countersign.agent": agent }, [done])));
    expect(await list(agent)).toMatchObject([expected]);
  });

  it("of Claude Code ends as its child does", async () => {
    const agent = nameAgent();
    const span = (traceId: string, spanId: string, parentSpanId: string, attributes: Attributes) => ({
      ...{ traceId, spanId, parentSpanId, name: "x", startTimeUnixNano: "1", endTimeUnixNano: "2" },
      attributes: Object.entries(attributes).map(([name, value]) => ({
        key: name,
        value: { stringValue: String(value) },
      })),
    });
    const [trace, parent, child] = ["a".repeat(32), "b".repeat(16), "c".repeat(16)];
    const spans = [
      span(trace, child, parent, { "span.type": "tool.execution", success: false }),
      span(trace, parent, "", { ...toolCall().attributes, "span.type": "tool" }),
    ];
    const attributes = [{ key: "countersign.agent", value: { stringValue: agent } }];
    const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] };
    await send("json", JSON.stringify(body));
    expect(await list(agent)).toMatchObject([{ metadata: { outcome: "failed" } }]);
  });
});

describe("a coding agent's own event", () => {
  const makeLogs = (agent: string, body: string, attributes: Attributes): ReadableLogRecord[] => {
    const records: ReadableLogRecord[] = [];
    const exporter = {
      export: (logs: ReadableLogRecord[], answer: (result: { code: number }) => void) => {
        records.push(...logs);
        answer({ code: 0 });
      },
      shutdown: async () => {},
      forceFlush: async () => {},
    };
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ "countersign.agent": agent }),
      processors: [new SimpleLogRecordProcessor({ exporter })],
    });
    provider.getLogger("events").emit({ body, attributes });
    return records;
  };

  it("takes a number that JavaScript's JSON writes as null for one that isn't there", async () => {
    const agent = nameAgent();
    const function_args = [Number.NaN, Number.POSITIVE_INFINITY, 5];
    const call = { "event.name": "gemini_cli.tool_call", function_name: "pay", function_args };
    const bytes = serializers.logs.json.serializeRequest(makeLogs(agent, "", call)) as Uint8Array;
    expect((await send("json", bytes, { signal: "logs" })).status).toBe(200);
    expect(await list(agent)).toMatchObject([{ inputs_hash: hashInputs([null, null, 5]) }]);
  });

  it("hashes large numbers alike in both encodings, whichever of OTLP's types the exporter chose", async () => {
    const agent = nameAgent();
    const function_args = [1e20, -1e20, 2 ** 63, -(2 ** 63), 2 ** 62, 2 ** 53 + 2, 1e308, 5];
    const call = { "event.name": "gemini_cli.tool_call", function_name: "pay", function_args };
    const records = makeLogs(agent, "", call);
    for (const encoding of encodings) {
      const bytes = serializers.logs[encoding].serializeRequest(records) as Uint8Array;
      expect(await send(encoding, bytes, { signal: "logs" })).toMatchObject({ status: 200 });
    }
    const exact = ["-9223372036854775808", "4611686018427387904", "9007199254740994"];
    const inputs = [1e20, -1e20, 2 ** 63, ...exact, 1e308, 5];
    expect(await list(agent)).toMatchObject([{ inputs_hash: hashInputs(inputs) }]);
  });

  it.each<[string, string, Attributes, JsonObject]>([
    [
      "Claude Code",
      "claude_code.tool_result",
      { "event.name": "tool_result", tool_name: "Bash", tool_input: '{"command":"true"}', success: "false" },
      { action: "Use the tool Bash", inputs_hash: hashInputs({ command: "true" }) },
    ],
    [
      "Codex",
      "",
      {
        "event.name": "codex.tool_result",
        tool_name: "exec_command",
        arguments: '{"cmd":"true"}',
        success: "false",
      },
      { action: "Use the tool exec_command", inputs_hash: hashInputs({ cmd: "true" }) },
    ],
    [
      "Gemini CLI",
      "Tool call: run",
      {
        "event.name": "gemini_cli.tool_call",
        function_name: "run",
        function_args: '{"x":1}',
        success: false,
      },
      { action: "Use the tool run", inputs_hash: hashInputs({ x: 1 }) },
    ],
  ])("is recorded once, in both encodings: %s", async (_, body, attributes, expected) => {
    const agent = nameAgent();
    const records = makeLogs(agent, body, attributes);
    for (const encoding of encodings) {
      const bytes = serializers.logs[encoding].serializeRequest(records) as Uint8Array;
      expect(await send(encoding, bytes, { signal: "logs" })).toMatchObject({ status: 200 });
    }
    const made = await list(agent);
    expect(made).toMatchObject([{ ...expected, metadata: { outcome: "failed" } }]);
    expect(predicateOf(made[0] as JsonObject).trace).toEqual({
      signal: "log",
      trace_id: null,
      span_id: null,
    });
  });

  it.each([
    ["claude_code.user_prompt", {}],
    ["gemini_cli.tool_call", { function_name: "run", success: false, decision: "reject" }],
  ])(
    "of another kind, or of a call that never ran, is taken and not recorded: %s",
    async (body, attributes) => {
      const agent = nameAgent();
      const bytes = JsonLogsSerializer.serializeRequest(makeLogs(agent, body, attributes)) as Uint8Array;
      const answer = await send("json", bytes, { signal: "logs" });
      expect([answer.status, partial("json", answer)]).toEqual([200, undefined]);
      expect(await list(agent)).toEqual([]);
    },
  );
});

/** One call of the tool `pay`, as each SDK and its telemetry tell of it. */
const input = { to: "Ada", cents: 10_000 };
const pay = {
  description: "Pays",
  inputSchema: z.object({ to: z.string(), cents: z.number() }),
  execute: async () => "paid",
};
type Tracer = ReturnType<TracerProvider["getTracer"]>;
const generateBySeven = (integration: seven.Telemetry) =>
  seven.generateText({
    model: modelOfAiSdk7(input),
    prompt: "Pay",
    tools: { pay: seven.tool(pay) },
    stopWhen: seven.isStepCount(3),
    telemetry: { integrations: integration },
  });
const sdks: Record<string, (tracer: Tracer) => Promise<unknown>> = {
  "AI SDK 6": (tracer) =>
    six.generateText({
      model: modelOfAiSdk6(input),
      prompt: "Pay",
      tools: { pay: six.tool(pay) },
      stopWhen: six.stepCountIs(3),
      experimental_telemetry: { isEnabled: true, tracer },
    }),
  "AI SDK 7": (tracer) => generateBySeven(new OpenTelemetry({ tracer })),
  "AI SDK 7 with its former spans": (tracer) => generateBySeven(new LegacyOpenTelemetry({ tracer })),
};

describe("real exporters over HTTP", () => {
  it.each(Object.entries(sdks))("send what %s and a logger tell, compressed", async (name, generate) => {
    const agent = nameAgent();
    const { base, close } = await listenFor(test);
    const headers = { authorization: `Bearer ${recordKey}` };
    const options = { headers, compression: "gzip" as never };
    const traces = new TracerProvider({
      resource: resourceFromAttributes({ "countersign.agent": agent }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new OTLPTraceExporter({ ...options, url: `${base}/v1/otlp/v1/traces` }),
        }),
      ],
    });
    await generate(traces.getTracer("ai"));
    await traces.shutdown();
    const logs = new LoggerProvider({
      resource: resourceFromAttributes({ "countersign.agent": agent }),
      processors: [
        new SimpleLogRecordProcessor({
          exporter: new OTLPLogExporter({ ...options, url: `${base}/v1/otlp/v1/logs` }),
        }),
      ],
    });
    logs
      .getLogger("events")
      .emit({ eventName: "claude_code.tool_result", attributes: { tool_name: "Read" } });
    await logs.shutdown();
    await close();
    const run = { action: "Invoke the agent mock-model-id", metadata: { outcome: "completed" } };
    expect(await list(agent)).toMatchObject([
      { action: "Use the tool pay", inputs_hash: hashInputs(input), metadata: { outcome: "completed" } },
      ...(name === "AI SDK 7" ? [run] : []),
      { action: "Use the tool Read", inputs_hash: "unreported", metadata: { outcome: "unknown" } },
    ]);
  });
});

const partial = (encoding: Encoding, answer: { body: Uint8Array }) =>
  read(encoding, answer, {
    1: ["partialSuccess", () => ({ 1: ["rejectedSpans", "int64"], 2: ["errorMessage", "string"] })],
  })["partialSuccess"] as JsonObject | undefined;

describe("a batch", () => {
  it("that is sent again, also at once and by another key, is recorded once", async () => {
    const agent = nameAgent();
    const { key: other } = await test.createKey("dev@example.com", ["record"]);
    const spans = makeSpans({ "countersign.agent": agent }, Array(5).fill(toolCall()));
    const bytes = serialize("protobuf", spans);
    const sent = await Promise.all([send("protobuf", bytes), send("protobuf", bytes, { as: other })]);
    for (const { status, headers } of sent)
      if (status !== 200) expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await send("json", serialize("json", spans))).toMatchObject({
      status: 200,
      body: new TextEncoder().encode("{}"),
    });
    const made = await list(agent);
    const ids = made.map((one) => predicateOf(one).trace.span_id);
    expect(ids.sort()).toEqual(spans.map((span) => span.spanContext().spanId).sort());
  });

  it.each(encodings)("is taken in part, and says which are not and why: %s", async (encoding) => {
    const agent = nameAgent();
    const resource = { "countersign.agent": agent };
    const [span, ...more] = makeSpans(resource, [toolCall(), toolCall()]) as [ReadableSpan, ReadableSpan];
    await send("json", serialize("json", [span]));
    const forged = makeSpans(resource, [toolCall({ "gen_ai.tool.name": "refund" })])[0] as ReadableSpan;
    Object.assign(forged, { spanContext: () => span.spanContext() });
    const strangers = makeSpans({ "countersign.agent": "not a name" }, [toolCall()]);
    const unnamed = makeSpans({ "service.name": "unknown_service:node" }, [toolCall()]);
    const answer = await send(encoding, serialize(encoding, [forged, ...more, ...strangers, ...unnamed]));
    expect(answer).toMatchObject({ status: 200, type: mediaTypes[encoding] });
    expect(partial(encoding, answer)).toEqual({
      rejectedSpans: "3",
      errorMessage: expect.stringMatching(/^3 spans not recorded: .*came before with other content/),
    });
    expect(partial(encoding, answer)?.["errorMessage"]).toMatch(/countersign\.agent.*agent_slug/);
    expect((await list(agent)).map(({ action }) => action)).toEqual(["Use the tool pay", "Use the tool pay"]);
  });

  it("has a span once, also if it is in it twice", async () => {
    const agent = nameAgent();
    const resource = { "countersign.agent": agent };
    const [span, forged] = makeSpans(resource, [toolCall(), toolCall({ "gen_ai.tool.name": "refund" })]) as [
      ReadableSpan,
      ReadableSpan,
    ];
    Object.assign(forged, { spanContext: () => span.spanContext() });
    const answer = await send("protobuf", serialize("protobuf", [span, span, forged]));
    expect(partial("protobuf", answer)).toEqual({
      rejectedSpans: "1",
      errorMessage: expect.stringContaining("is in the batch with other content too"),
    });
    expect(await list(agent)).toMatchObject([{ action: "Use the tool pay" }]);
  });

  it("doesn't bring back what was erased", async () => {
    const agent = nameAgent();
    const bytes = serialize("json", makeSpans({ "countersign.agent": agent }, [toolCall()]));
    await send("json", bytes);
    const [made] = await list(agent);
    await test.call("DELETE", `/v1/attestations/${made?.["attestation_id"]}/content`, { key });
    const again = await send("json", bytes);
    expect(partial("json", again)?.["errorMessage"]).toContain("erased");
    expect(await list(agent)).toMatchObject([{ status: "erased" }]);
  });

  it("over the limit is recorded as far as it goes, and the rest when it comes again", async () => {
    const agent = nameAgent();
    const spans = makeSpans({ "countersign.agent": agent }, Array(25).fill(toolCall()));
    const bytes = serialize("protobuf", spans);
    const counts: number[] = [];
    const { env } = test.app as unknown as { env: { LIMIT_ATTEST_PER_MINUTE: number } };
    env.LIMIT_ATTEST_PER_MINUTE = 11;
    try {
      for (let sent = 0; sent < 3; sent += 1) {
        const { key: fresh } = await test.createKey("dev@example.com", ["record"]);
        const { status, headers } = await send("protobuf", bytes, { as: fresh });
        counts.push(status, (await list(agent)).length);
        if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      }
    } finally {
      env.LIMIT_ATTEST_PER_MINUTE = 1000;
    }
    expect(counts).toEqual([429, 10, 429, 20, 200, 25]);
    const ids = (await list(agent)).map((one) => predicateOf(one).trace.span_id);
    expect(new Set(ids).size).toBe(25);
  });

  it("counts for its size when unpacked, also if nothing in it is recorded", async () => {
    const { key: fresh } = await test.createKey("dev@example.com", ["record"]);
    const left = async (body: string) => {
      const answer = await send("json", gzipSync(body), { as: fresh, headers: gzipped });
      expect(answer.status).toBe(200);
      return Number(answer.headers.get("x-ratelimit-remaining"));
    };
    const small = await left("{}");
    expect(small - (await left("{}"))).toBe(1);
    expect(small - (await left(`{}${" ".repeat(4 * 256 * 1024)}`))).toBe(2 + 4);
  });
});

describe("what is refused", () => {
  it.each(encodings)("is answered as a Status in the encoding of the request: %s", async (encoding) => {
    const fine = serialize(encoding, []);
    const bomb = gzipSync(new Uint8Array(9 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(20_000);
    const refused = [
      [await send(encoding, fine, { as: "" }), 401, /Missing Authorization/],
      [await send(encoding, fine, { as: attestKey }), 403, /permission record/],
      [await send(encoding, new Uint8Array(1024 * 1024 + 1)), 413, /1048576 bytes/],
      [await send(encoding, bomb, { headers: gzipped }), 413, /8388608 bytes when unpacked/],
      [await send(encoding, fine, { headers: gzipped }), 400, /not gzip/],
      [await send(encoding, fine, { headers: { "content-encoding": "br" } }), 400, /Content-Encoding/],
      [await send(encoding, Uint8Array.of(0xff, 0x01)), 400, /no OTLP traces/],
    ] as const;
    for (const [answer, status, message] of refused) {
      expect(answer).toMatchObject({ status, type: mediaTypes[encoding] });
      expect(read(encoding, answer, { 2: ["message", "string"] })).toEqual({
        message: expect.stringMatching(message),
      });
    }
  });

  it("is JSON of another shape, of too many values, and another media type", async () => {
    const dense = gzipSync(`{"resourceSpans":[${"{},".repeat(600_000)}{}]}`);
    const bodies = ["[]", "{", '{"resourceSpans":{}}', '{"resourceSpans":[1]}'];
    for (const body of bodies) expect(await send("json", body)).toMatchObject({ status: 400 });
    expect(await send("json", dense, { headers: gzipped })).toMatchObject({ status: 400 });
    const text = await send("json", "{}", { headers: { "content-type": "text/plain" } });
    expect([text.status, read("json", text, {})]).toEqual([
      400,
      { message: expect.stringContaining("Content-Type") },
    ]);
  });

  it("of one span is said of it alone: ids that are none, arguments that no JSON has", async () => {
    const agent = nameAgent();
    const spans = [
      { traceId: "AF".repeat(16), spanId: "bb".repeat(8) },
      { traceId: "0".repeat(32), spanId: "bb".repeat(8) },
      { traceId: "qrvM3e7/AAECAwQFBgcICQ==", spanId: "cc".repeat(8) },
      { traceId: "aa".repeat(16), spanId: "dd".repeat(8), text: '"\ud800"' },
      { traceId: "aa".repeat(16), spanId: "ee".repeat(8), text: "\u0000" },
    ].map(({ traceId, spanId, text = "1" }: { traceId: string; spanId: string; text?: string }) => ({
      traceId,
      spanId,
      attributes: Object.entries({ ...toolCall().attributes, "gen_ai.tool.call.arguments": text }).map(
        ([name, value]) => ({ key: name, value: { stringValue: value } }),
      ),
    }));
    const attributes = [{ key: "countersign.agent", value: { stringValue: agent } }];
    const body = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] };
    const answer = await send("json", JSON.stringify(body));
    expect(partial("json", answer)).toEqual({
      rejectedSpans: "3",
      errorMessage: expect.stringMatching(/^3 spans/),
    });
    expect((await list(agent)).map((one) => predicateOf(one).trace.span_id)).toEqual([
      "bb".repeat(8),
      "ee".repeat(8),
    ]);
  });

  it("isn't kept from the record by others' values beside it, nor by a name that no agent can have", async () => {
    const text = (stringValue: string) => ({ stringValue });
    const deep = JSON.parse(`${'{"arrayValue":{"values":['.repeat(60)}{"boolValue":true}${"]}}".repeat(60)}`);
    const toAttributes = (values: Record<string, JsonObject>) =>
      Object.entries(values).map(([name, value]) => ({ key: name, value }));
    const call = toAttributes({ "event.name": text("claude_code.tool_result"), tool_name: text("Read") });
    const records = (agent: string) => ({
      resource: { attributes: toAttributes({ "countersign.agent": text(agent) }) },
      scopeLogs: [
        {
          logRecords: [
            { body: deep },
            { body: { kvlistValue: { values: [1] } } },
            { attributes: toAttributes({ "gen_ai.operation.name": deep, "event.name": deep }) },
            { attributes: call },
          ],
        },
      ],
    });
    const [agent, other] = [nameAgent(), nameAgent()];
    const sendTo = (name: string) =>
      send("json", JSON.stringify({ resourceLogs: [records(name)] }), { signal: "logs" });
    const answer = await sendTo(agent);
    expect([answer.status, read("json", answer, {})]).toEqual([200, {}]);
    expect(await list(agent)).toHaveLength(1);
    // A lone surrogate, which JSON can write.
    expect(partial("json", await sendTo(`${other}\ud800`))).toMatchObject({
      rejectedLogRecords: "1",
      errorMessage: expect.stringContaining("agent_slug"),
    });
    const span = {
      traceId: "ac".repeat(16),
      spanId: "ac".repeat(8),
      attributes: toAttributes({ "gen_ai.operation.name": text("execute_tool") }),
    };
    const resource = { attributes: toAttributes({ "countersign.agent": text(`${other}\ud800`) }) };
    const spans = await send(
      "json",
      JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
    );
    expect(partial("json", spans)).toMatchObject({ errorMessage: expect.stringContaining("agent_slug") });
  });
});
