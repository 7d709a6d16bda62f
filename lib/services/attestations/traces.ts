/**
 * Reads from OTLP's spans and log records which tools ran and which agents were invoked, in the words of the
 * GenAI semantic conventions, of OpenInference, of the AI SDK and of coding agents. All else in a trace is passed over.
 */
import { hashInputs } from "#lib/client/api/inputs";
import {
  canonicalHash,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { decodeProtobuf, type Message } from "#lib/protocol/encoding/protobuf";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { describeToolCall, toRecordedText } from "#lib/protocol/record/title";
import type { TraceMark } from "#lib/protocol/statement/statement";

export type Signal = "traces" | "logs";

export interface Reported {
  /** The same for the same span, or for the same log record, whenever it is sent. */
  key: string;
  record: JsonObject;
  trace: TraceMark;
}

/** A tool's or an agent's span that can't be recorded, with the reason. */
export type Report = Reported | { why: string };

/* The messages of OTLP 1.x, as far as they are read. */

const anyValue: Message = {
  1: ["stringValue", "string"],
  2: ["boolValue", "bool"],
  3: ["intValue", "int64"],
  4: ["doubleValue", "double"],
  5: ["arrayValue", () => ({ 1: ["values", [() => anyValue]] })],
  6: ["kvlistValue", () => ({ 1: ["values", [() => keyValue]] })],
  7: ["bytesValue", "bytes"],
};
const keyValue: Message = { 1: ["key", "string"], 2: ["value", () => anyValue] };
const resource: Message = { 1: ["attributes", [() => keyValue]] };
const span: Message = {
  1: ["traceId", "id"],
  2: ["spanId", "id"],
  4: ["parentSpanId", "id"],
  5: ["name", "string"],
  7: ["startTimeUnixNano", "fixed64"],
  8: ["endTimeUnixNano", "fixed64"],
  9: ["attributes", [() => keyValue]],
  15: ["status", () => ({ 3: ["code", "enum"] })],
};
const logRecord: Message = {
  1: ["timeUnixNano", "fixed64"],
  11: ["observedTimeUnixNano", "fixed64"],
  5: ["body", () => anyValue],
  6: ["attributes", [() => keyValue]],
  9: ["traceId", "id"],
  10: ["spanId", "id"],
  12: ["eventName", "string"],
};

const lists = {
  traces: ["resourceSpans", "scopeSpans", "spans", span],
  logs: ["resourceLogs", "scopeLogs", "logRecords", logRecord],
} as const;

export function decodeTraces(signal: Signal, bytes: Uint8Array): JsonObject {
  const [ofResource, ofScope, items, item] = lists[signal];
  const scoped: Message = { 2: [items, [() => item]] };
  const grouped: Message = { 1: ["resource", () => resource], 2: [ofScope, [() => scoped]] };
  return decodeProtobuf(bytes, { 1: [ofResource, [() => grouped]] });
}

/** Throws RangeError for what is no list of objects. */
function listIn(object: JsonObject, name: string): JsonObject[] {
  const list = object[name] ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject))
    throw new RangeError(`${name} is no list of objects`);
  return list;
}

interface Item {
  item: JsonObject;
  own: Attributes;
  about: Attributes;
}

/**
 * Describes each only when it is asked for: a description takes longer than all else, and a caller may not be allowed all of
 * them. Throws RangeError at once for what is no such request.
 */
export function readReports(signal: Signal, request: JsonObject): Iterable<Report> {
  const [ofResource, ofScope, items] = lists[signal];
  const all = listIn(request, ofResource).flatMap((group) => {
    const about = new Attributes(isJsonObject(group["resource"]) ? group["resource"] : {});
    const listed = listIn(group, ofScope).flatMap((scope) => listIn(scope, items));
    return listed.map((item): Item => ({ item, own: new Attributes(item), about }));
  });
  const ends = readEnds(all);
  return describeEach(signal, all, ends);
}

function* describeEach(signal: Signal, all: readonly Item[], ends: Ends): Generator<Report> {
  for (const one of all) {
    const report = readItem(signal, one, ends);
    if (report !== null) yield report;
  }
}

type Ends = ReadonlyMap<JsonValue | undefined, string | undefined>;

/** Claude Code's span of a tool has no status: whether the tool failed is in a child, which ends before it. */
function readEnds(all: readonly Item[]): Ends {
  const ended = all.filter(({ own }) => own.text("span.type") === "tool.execution");
  return new Map(ended.map(({ item, own }) => [item["parentSpanId"], own.text("success")]));
}

/**
 * JSON has 64-bit numbers as text. Exporters in JavaScript write a JSON number of any size, for what they send as a double by
 * protobuf if 64 bits don't hold it: both have to give the same inputs.
 */
function readInteger(value: JsonValue | undefined): JsonValue {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  if (typeof value !== "number" || !Number.isInteger(value)) return String(value);
  return value >= -(2 ** 63) && value < 2 ** 63 ? String(BigInt(value)) : value;
}

const maxDepth = 48;

function readValue(value: JsonValue | undefined, depth = 0): JsonValue {
  if (depth > maxDepth) throw new RangeError("its arguments are nested too deeply");
  if (!isJsonObject(value)) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } = value;
  if (stringValue !== undefined || boolValue !== undefined) return stringValue ?? boolValue ?? null;
  // Exporters in JavaScript write null for NaN and Infinity.
  if ((intValue ?? null) !== null) return readInteger(intValue);
  if ((doubleValue ?? null) !== null)
    return Number.isFinite(doubleValue) ? Number(doubleValue) : String(doubleValue);
  if (isJsonObject(arrayValue)) return listIn(arrayValue, "values").map((one) => readValue(one, depth + 1));
  if (!isJsonObject(kvlistValue)) return bytesValue ?? null;
  const members = listIn(kvlistValue, "values");
  return Object.fromEntries(members.map(({ key, value: one }) => [String(key), readValue(one, depth + 1)]));
}

/** Lists and objects are no text, however deep they are. */
const readScalar = (value: JsonValue | undefined): JsonValue =>
  isJsonObject(value) && (value["arrayValue"] ?? value["kvlistValue"]) !== undefined
    ? null
    : readValue(value);

class Attributes {
  readonly #values: ReadonlyMap<JsonValue | undefined, JsonValue | undefined>;

  constructor(object: JsonObject) {
    this.#values = new Map(listIn(object, "attributes").map(({ key, value }) => [key, value]));
  }

  /** The first of these that there is. */
  value(...names: string[]): JsonValue | undefined {
    const name = names.find((one) => this.#values.has(one));
    return name === undefined ? undefined : readValue(this.#values.get(name));
  }

  /** The first that is a text, a number or a truth value. */
  text(...names: string[]): string | undefined {
    const values = names.map((name) => readScalar(this.#values.get(name)));
    const found = values.find((value) => value !== null && typeof value !== "object" && value !== "");
    return found === undefined ? undefined : String(found);
  }
}

/* Tools that ran, and agents that were invoked, among spans. */

const toolEvents = /^(?:claude_code|codex)\.tool_result$|^(?:gemini_cli|qwen-code)\.tool_call$/;

function findKind(own: Attributes, events: readonly JsonValue[]): "tool" | "agent" | null {
  const operation = own.text("gen_ai.operation.name");
  const openInference = own.text("openinference.span.kind");
  if (operation === "execute_tool" || openInference === "TOOL") return "tool";
  if (operation === "invoke_agent" || openInference === "AGENT") return "agent";
  // Gemini CLI and Qwen Code tell of a call that was rejected by the same event: it never ran.
  const isToolEvent =
    events.some((event) => typeof event === "string" && toolEvents.test(event)) &&
    own.text("decision") !== "reject";
  return own.text("ai.operationId") === "ai.toolCall" || isToolEvent ? "tool" : null;
}

function readItem(signal: Signal, { item, own, about }: Item, ends: Ends): Report | null {
  const kind = findKind(own, signal === "logs" ? listEventNames(item, own) : []);
  if (kind === null) return null;
  const [traceId, spanId] = [readId(item["traceId"], 32), readId(item["spanId"], 16)];
  try {
    if (signal === "traces" && (traceId === null || spanId === null))
      throw new RangeError("its trace id or span id is not in hex, or is zero");
    const trace: TraceMark = {
      signal: signal === "traces" ? "span" : "log",
      trace_id: traceId,
      span_id: spanId,
    };
    const isClaudeCode = own.text("span.type") === "tool";
    const success = isClaudeCode ? (ends.get(item["spanId"]) ?? "unknown") : own.text("success");
    const record = { ...describe(kind, item, own, success), ...readPlace(about) };
    const times = [item["timeUnixNano"] ?? null, item["observedTimeUnixNano"] ?? null];
    const key =
      signal === "traces" ? `${traceId}/${spanId}` : canonicalHash([traceId, spanId, ...times, record]);
    return { key, record, trace };
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    return { why: `${nameOf(item)}: ${error.message}` };
  }
}

const nameOf = (item: JsonObject) =>
  toRecordedText(String(item["spanId"] ?? item["eventName"] ?? "a record"));

/** An event's name is in a field of its own, in the body, or in an attribute, as old as its exporter is. */
const listEventNames = ({ eventName, body }: JsonObject, own: Attributes): JsonValue[] => [
  eventName ?? null,
  readScalar(body),
  own.text("event.name") ?? null,
];

function readId(value: JsonValue | undefined, digits: number): string | null {
  const id = typeof value === "string" ? value.toLowerCase() : "";
  return id.length === digits && /^[0-9a-f]+$/.test(id) && /[^0]/.test(id) ? id : null;
}

/* Agent and visibility, by attributes of the resource, which OTEL_RESOURCE_ATTRIBUTES sets in every SDK. */

function readPlace(about: Attributes): JsonObject {
  const service = about.text("service.name") ?? "";
  const derived = /^unknown_service/.test(service)
    ? ""
    : service
        .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
        .replace(/^[^A-Za-z0-9]+/, "")
        .slice(0, 64);
  // Replaces lone surrogates, which no canonical JSON has: the slug is refused with the others' mistakes.
  const agent_slug = (about.text("countersign.agent") ?? derived).toWellFormed();
  if (agent_slug === "")
    throw new RangeError("no agent: set countersign.agent in OTEL_RESOURCE_ATTRIBUTES, or service.name");
  return { agent_slug, is_public: about.text("countersign.public") === "true" };
}

/** Replaces a hash: many exporters leave arguments out unless somebody says otherwise. */
const unreportedInputs = "unreported";

function parseInputs(value: JsonValue): JsonValue {
  if (typeof value !== "string") return value;
  try {
    return parseStrictJson(value);
  } catch {
    return value;
  }
}

function describe(
  kind: "tool" | "agent",
  item: JsonObject,
  own: Attributes,
  success: string | undefined,
): JsonObject {
  const given = own.value(
    ...["gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "input.value"],
    ...["tool_input", "arguments", "function_args", "gen_ai.input.messages"],
  );
  const inputs = given === undefined || given === null ? null : parseInputs(given);
  const spanName =
    typeof item["name"] === "string" ? item["name"].replace(/^(?:execute_tool|invoke_agent) /, "") : "";
  const agent = own.text("gen_ai.agent.name", "agent.name", "agent_name", "gen_ai.agent.id");
  // Claude Code names neither the agent nor, as the conventions have it, its span after it.
  const unnamed = /^claude_code\./.test(spanName) ? "Claude Code" : spanName;
  const called = own.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "function_name");
  const inputs_hash = inputs === null ? unreportedInputs : hashInputs(inputs);
  const call = kind === "tool" ? describeToolCall(called ?? spanName, inputs) : null;
  const model = own.text("gen_ai.response.model", "gen_ai.request.model", "llm.model_name");
  return {
    action: call?.action ?? `Invoke the agent ${toRecordedText(agent ?? unnamed)}`,
    inputs_hash,
    ...(call !== null && { tools_used: [call.tool] }),
    ...(model !== undefined && { model_id: toRecordedText(model) }),
    metadata: {
      ...(call?.title !== undefined && { title: call.title }),
      outcome: readOutcome(item, own, success),
      ...readTimes(item),
      ...textsOf({
        session: own.text("gen_ai.conversation.id", "session.id", "conversation.id"),
        call: own.text("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool_use_id", "call_id"),
        agent: kind === "tool" ? agent : undefined,
      }),
    },
  };
}

const textsOf = (texts: Record<string, string | undefined>): JsonObject =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, toRecordedText(text)]],
    ),
  );

function readOutcome(
  { status, endTimeUnixNano }: JsonObject,
  own: Attributes,
  success: string | undefined,
): string {
  const code = isJsonObject(status) ? status["code"] : undefined;
  if (code === 2 || code === "STATUS_CODE_ERROR" || own.text("error.type") !== undefined) return "failed";
  if (success === "true" || success === "false") return success === "true" ? "completed" : "failed";
  return success === undefined && endTimeUnixNano !== undefined ? "completed" : "unknown";
}

/** Reads the exporter's times: `at` is the end, as in what a hook records. */
function readTimes({ startTimeUnixNano, endTimeUnixNano, timeUnixNano, observedTimeUnixNano }: JsonObject) {
  const start = readTime(startTimeUnixNano);
  const at = readTime(endTimeUnixNano) ?? readTime(timeUnixNano) ?? readTime(observedTimeUnixNano);
  return { ...(start !== null && { started_at: start }), ...(at !== null && { at }) };
}

function readTime(nanos: JsonValue | undefined): string | null {
  const text = String(nanos ?? 0);
  const milliseconds = /^\d{1,20}$/.test(text) ? Number(BigInt(text) / 1_000_000n) : 0;
  return milliseconds > 0 && milliseconds < 8.64e15 ? new Date(milliseconds).toISOString() : null;
}
