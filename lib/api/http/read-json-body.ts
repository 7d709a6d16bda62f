/**
 * A request body to JSON, mostly an object, strictly (lib/protocol/encoding/strict-json.ts): UTF-8, at most so many bytes, counted as they
 * stream in, and no U+0000, which PostgreSQL's text cannot hold.
 */

import { AppError, type FieldError } from "#lib/errors";
import { inTime } from "#lib/in-time";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { discard, readAtMost } from "#lib/protocol/encoding/read-stream";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import type { HttpRequest } from "./messages";
import { maxErrors, toPointer } from "./validate";

const defaultMaxBytes = 64 * 1024;
/** How much of a body that is too large is read away, so that its sender gets to read the answer. */
const maxDiscardedBytes = 16 * 1024 * 1024;

/** So that a body of short values costs the request thread no more than one of long ones. */
const maxTokens = 20_000;

/** How long a sender may take, so that half-sent bodies don't pile up. */
const maxSeconds = 8;

const tooSlow = () =>
  new AppError("bad_request", `the body didn't arrive within ${maxSeconds} seconds`, {
    headers: { connection: "close" },
  });

/** A body that its sender breaks off is a bad request, whatever the socket's error is called. */
export async function readBytes(
  request: Pick<HttpRequest, "headers" | "body" | "whole">,
  maxBytes = defaultMaxBytes,
): Promise<Uint8Array> {
  const tooLarge = () => new AppError("payload_too_large", `the body can be at most ${maxBytes} bytes`);
  // Cancelling at once would cut the connection before the answer is out.
  const refuse = (reader: ReadableStreamDefaultReader<Uint8Array>) => void discard(reader, maxDiscardedBytes);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) {
    if (request.body !== null) refuse(request.body.getReader());
    throw tooLarge();
  }
  const { whole } = request;
  const isSmall = whole !== undefined && whole.announced <= maxBytes;
  const reading = isSmall ? whole.read() : readAtMost(request.body, maxBytes, refuse);
  const received = reading.catch((cause: unknown) => {
    throw new AppError("bad_request", "the body was cut off", { cause });
  });
  const bytes = await inTime(received, maxSeconds * 1000, tooSlow);
  if (bytes === null) throw tooLarge();
  return bytes;
}

function parse(text: string): JsonValue {
  try {
    return parseStrictJson(text, { maxTokens });
  } catch (error) {
    const problem =
      error instanceof RangeError
        ? `the body is not acceptable JSON: ${error.message}`
        : "the body is not JSON";
    throw new AppError("bad_request", problem);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new AppError("bad_request", "the body is not UTF-8");
  }
}

/** Adds pointers to the first strings and names with U+0000. */
function findNul(value: JsonValue, path: string[], found: FieldError[]): void {
  const add = () => found.push({ pointer: toPointer(path), message: "must not contain U+0000" });
  if (found.length >= maxErrors) return;
  if (typeof value === "string" && value.includes("\0")) add();
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name.includes("\0")) add();
    path.push(name);
    findNul(member, path, found);
    path.pop();
  }
}

export function parseStrictBody(bytes: Uint8Array): JsonValue {
  const text = decode(bytes);
  const value = parse(text);
  const errors: FieldError[] = [];
  // JSON has one way to write it.
  if (text.includes("\\u0000")) findNul(value, [], errors);
  const [first] = errors;
  if (first) {
    const field = first.pointer.slice(1).replaceAll("/", ".") || "body";
    throw new AppError("validation_error", `${field}: ${first.message}`, { errors });
  }
  return value;
}

export function parseStrictObject(bytes: Uint8Array): JsonObject {
  const value = parseStrictBody(bytes);
  if (isJsonObject(value)) return value;
  throw new AppError("bad_request", "the body must be a JSON object");
}

export async function readJsonObject(
  request: Pick<HttpRequest, "headers" | "body" | "whole">,
  maxBytes?: number,
): Promise<JsonObject> {
  return parseStrictObject(await readBytes(request, maxBytes));
}
