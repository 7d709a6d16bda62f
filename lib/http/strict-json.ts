/**
 * A request body to a JSON object, strictly (lib/domain/strict-json.ts): UTF-8, at most 64 KiB counted as it
 * streams in, and no U+0000, which PostgreSQL's text cannot hold.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/domain/canonical-json";
import { parseStrictJson } from "#lib/domain/strict-json";
import { AppError, type FieldError } from "#lib/errors";
import { toPointer } from "./validate";

const maxBytes = 64 * 1024;
/** How much of a body that is too large is read away, so that its sender gets to read the answer. */
const maxDiscardedBytes = 16 * 1024 * 1024;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Never rejects. Cancelling at once would cut the connection before the answer is out. */
async function discard(reader: Reader): Promise<void> {
  try {
    for (let length = 0; length < maxDiscardedBytes; ) {
      const { done, value } = await reader.read();
      if (done) return;
      length += value.length;
    }
    await reader.cancel();
  } catch {
    // the sender has gone
  }
}

function readChunk(reader: Reader) {
  return reader.read().catch((cause: unknown) => {
    throw new AppError("bad_request", "the body broke off", { cause });
  });
}

/** At most 64 KiB. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader: Reader = request.body.getReader();
  const refuse = () => {
    void discard(reader);
    return new AppError("payload_too_large", `the body may have at most ${maxBytes} bytes`);
  };
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw refuse();
  const chunks: Uint8Array[] = [];
  for (let length = 0; ; ) {
    const { done, value } = await readChunk(reader);
    if (done) return Buffer.concat(chunks);
    length += value.length;
    if (length > maxBytes) throw refuse();
    chunks.push(value);
  }
}

function parse(text: string): JsonValue {
  try {
    return parseStrictJson(text);
  } catch (error) {
    const problem =
      error instanceof RangeError ? `the body has a fault: ${error.message}` : "the body is not JSON";
    throw new AppError("bad_request", problem);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new AppError("bad_request", "the body is not UTF-8");
  }
}

/** Pointers to every string and name with U+0000. */
function findNul(value: JsonValue, path: readonly string[]): FieldError[] {
  const here = { pointer: toPointer(path), message: "must not contain U+0000" };
  if (typeof value === "string") return value.includes("\0") ? [here] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    ...(name.includes("\0") ? [here] : []),
    ...findNul(member, [...path, name]),
  ]);
}

export function parseStrictObject(bytes: Uint8Array): JsonObject {
  const value = parse(decode(bytes));
  if (!isJsonObject(value)) throw new AppError("bad_request", "the body must be a JSON object");
  const [first, ...others] = findNul(value, []);
  if (first) {
    const field = first.pointer.slice(1).replaceAll("/", ".") || "body";
    throw new AppError("validation_error", `${field}: ${first.message}`, { errors: [first, ...others] });
  }
  return value;
}

export async function readJsonObject(request: Request): Promise<JsonObject> {
  return parseStrictObject(await readBytes(request));
}
