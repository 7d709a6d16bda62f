/** Runs the operations of lib/api/operations/service.ts for agents: streamable HTTP, and hooks of type http. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import { type Handlers, parseStrictBody, readBytes } from "#lib/api/http/pipeline";
import type { HttpRequest } from "#lib/api/http/problem";
import type { mcpOperations as specs } from "#lib/api/operations/service";
import { AppError } from "#lib/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { Context } from "#lib/services/approvals/context";
import { callAs, type AnswerAsked as HandleRequest } from "./tools";

/** Headers that the protocol reads of a request. */
const headerNames = ["content-type", "mcp-method", "mcp-name", "mcp-protocol-version"];

function toRequest(asked: HttpRequest, accept: string): Request {
  const headers = new Headers({ accept });
  for (const name of headerNames) {
    const value = asked.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Request(asked.url, { method: "POST", headers });
}

const [json, stream] = ["application/json", "text/event-stream"] as const;

/** Weights by media range (RFC 9110, section 12.5.1). */
function parseAccept(accept: string): Map<string, number> {
  const ranges = accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return [type, weight === undefined ? 1 : Number(weight.slice(2))] as const;
  });
  return new Map(ranges);
}

/** A stream goes only to clients that name it: others, such as those that send a bare wildcard, may know JSON alone. */
function chooseFormat(accept: string | null): "both" | "json" | "neither" {
  const weights = parseAccept(accept?.trim() || "*/*");
  const takesStream = (weights.get(stream) ?? weights.get("text/*") ?? 0) > 0;
  const takesJson = (weights.get(json) ?? weights.get("application/*") ?? weights.get("*/*") ?? 0) > 0;
  if (!takesJson) return "neither";
  return takesStream ? "both" : "json";
}

async function readStream(response: Response, isBatch: boolean): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith(stream)) return response;
  const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  const messages = events.map((line) => JSON.parse(line.slice("data: ".length)) as JsonObject);
  const answers = messages.filter((message) => "result" in message || "error" in message);
  return Response.json(isBatch ? answers : answers[0], { status: response.status });
}

const maxBytes = 64 * 1024;
/** Larger bodies are read up to this, to be rejected by their id. */
const maxReadBytes = 1024 * 1024;
const maxBatch = 10;

/** Protocol 2025-03-26 has batches. A call that is cancelled in its own batch would get no answer, and the batch no end. */
function readMessages(body: JsonValue): JsonValue {
  if (isJsonObject(body)) return body;
  if (!Array.isArray(body) || body.length === 0 || body.length > maxBatch)
    throw new AppError("bad_request", `the body must be a message, or a batch of at most ${maxBatch}`);
  return body.filter((one) => !isJsonObject(one) || one["method"] !== "notifications/cancelled");
}

/**
 * Refuses in a form that tells the model why: of another kind of answer some clients show it nothing, and others end the
 * connection.
 */
function refuseMessage(bytes: Uint8Array, error: unknown): Response {
  const id = findId(bytes);
  if (!(error instanceof AppError) || id === null) throw error;
  return Response.json({ jsonrpc: "2.0", id, error: { code: -32_602, message: error.message } });
}

/** Finds the id even where the text is no strict JSON, as with a number of too many digits. */
function findId(bytes: Uint8Array): string | number | null {
  try {
    const { id, method } = JSON.parse(new TextDecoder().decode(bytes));
    return typeof method === "string" && (typeof id === "string" || typeof id === "number") ? id : null;
  } catch {
    return null;
  }
}

export const createMcpHandlers = (answer: HandleRequest): Handlers<typeof specs, Context> => ({
  mcp: async (call) => {
    const { request, context } = call;
    // A page of another origin has no business here, even with a key.
    if (request.headers.has("origin")) requireSameOrigin(request, context.settings.baseUrl);
    const { keyId, scopes } = call.principal;
    const bytes = await readBytes(request, maxReadBytes);
    let body: JsonValue;
    try {
      if (bytes.length > maxBytes)
        throw new AppError("payload_too_large", `the body can be at most ${maxBytes} bytes`);
      body = readMessages(parseStrictBody(bytes));
    } catch (error) {
      return refuseMessage(bytes, error);
    }
    const { handle } = await import("./server");
    const { secrets, logger } = context;
    const caller = { call: callAs(call, answer), keyId, scopes, stateKey: secrets.mcpState, logger };
    const format = chooseFormat(request.headers.get("accept"));
    const asked = toRequest(request, format === "neither" ? "" : `${json}, ${stream}`);
    const response = await handle(asked, body, caller);
    return format === "json" ? readStream(response, Array.isArray(body)) : response;
  },
  agent_hook: async (call) => (await import("./agent-hook")).answerHook(call, answer),
});
