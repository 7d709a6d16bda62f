/** Reading what an outsider was given. Nothing in it is believed; what is not even the right shape is refused. */
import { base64Decode, hexDecode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";

/** An answer may have half of it in rows (lib/verifier/cli/io.ts), which the monitor keeps in base64. */
const maxCharacters = 128 * 1024 * 1024;

/** The file is not of a kind or shape that can be verified at all: neither valid nor invalid. */
export class UnreadableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnreadableError";
  }
}

/** Text is parsed strictly (no name twice); a value that someone has parsed already is taken as it is. */
export function readObject(json: unknown): JsonObject {
  const value = typeof json === "string" ? readText(json) : json;
  if (!isJsonObject(value)) throw new UnreadableError("expected a JSON object");
  return value;
}

function readText(text: string): JsonValue {
  try {
    return parseStrictJson(text, { maxCharacters });
  } catch (error) {
    throw new UnreadableError(`not strict JSON: ${error instanceof Error ? error.message : "malformed"}`);
  }
}

export function requireText(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value !== "string") throw new UnreadableError(`${name}: expected a string`);
  return value;
}

export function requireObject(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (!isJsonObject(value)) throw new UnreadableError(`${name}: expected an object`);
  return value;
}

/** A place in the log or a size of it. */
export function requireIndex(object: JsonObject, name: string): number {
  const value = object[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new UnreadableError(`${name}: expected a whole number`);
  return value;
}

export function requireTexts(object: JsonObject, name: string): string[] {
  const value = object[name];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw new UnreadableError(`${name}: expected a list of strings`);
  return value;
}

export function decodeBase64(text: string, name: string, length?: number): Uint8Array {
  return decode(text, name, base64Decode, length);
}

export function decodeHex(text: string, name: string, length: number): Uint8Array {
  return decode(text, name, hexDecode, length);
}

function decode(text: string, name: string, decoder: (text: string) => Uint8Array, length?: number) {
  let bytes: Uint8Array;
  try {
    bytes = decoder(text);
  } catch {
    throw new UnreadableError(`${name}: ${decoder === hexDecode ? "not lower-case hex" : "not base64"}`);
  }
  if (length !== undefined && bytes.length !== length)
    throw new UnreadableError(`${name}: expected ${length} bytes`);
  return bytes;
}
