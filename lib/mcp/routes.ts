/** Runs the operation of lib/contract/operations-mcp.ts: streamable HTTP. */
import type { Context } from "#lib/approvals/context";
import type { mcpOperations as specs } from "#lib/contract/operations-mcp";
import { isJsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";
import { AppError } from "#lib/errors";
import type { Handlers } from "#lib/http/call";
import type { HttpRequest } from "#lib/http/messages";
import { parseStrictBody, readBytes } from "#lib/http/read-json-body";
import { requireSameOrigin } from "#lib/http/same-origin";
import { callAs, type AnswerAsked as HandleRequest } from "./call-operation";

/** What the protocol reads of a request. */
const headerNames = ["accept", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version"];

function toRequest(asked: HttpRequest): Request {
  const headers = new Headers();
  for (const name of headerNames) {
    const value = asked.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Request(asked.url, { method: "POST", headers });
}

const maxBytes = 64 * 1024;
/** What is too large is read so far as this, to be refused by its id. */
const maxReadBytes = 1024 * 1024;
const maxBatch = 10;

/** Protocol 2025-03-26 has batches. A call that is cancelled in its own batch would get no answer, and the batch no end. */
function readMessages(body: JsonValue): JsonValue {
  if (isJsonObject(body)) return body;
  if (!Array.isArray(body) || body.length === 0 || body.length > maxBatch)
    throw new AppError("bad_request", `the body must be a message, or a batch of at most ${maxBatch}`);
  return body.filter((one) => !isJsonObject(one) || one["method"] !== "notifications/cancelled");
}

/** So that a model learns why: of another kind of answer some clients show it nothing, and others end the connection. */
function refuseMessage(bytes: Uint8Array, error: unknown): Response {
  const id = findId(bytes);
  if (!(error instanceof AppError) || id === null) throw error;
  return Response.json({ jsonrpc: "2.0", id, error: { code: -32_602, message: error.message } });
}

/** Of what may be no strict JSON, as a number with too many digits. */
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
    const { handle } = await import("./handler");
    const { secrets, logger } = context;
    const caller = { call: callAs(call, answer), keyId, scopes, stateKey: secrets.mcpState, logger };
    return handle(toRequest(request), body, caller);
  },
});
