/**
 * A request body to a JSON object, strictly: UTF-8, at most 64 KiB counted as it streams in, no duplicate
 * keys, at most 32 levels, well-formed strings, whole numbers within ±(2^53−1). `JSON.parse` alone keeps
 * the last of two equal keys and rounds large numbers, so two readers could see two documents.
 */
import { visit } from "jsonc-parser";
import { isJsonObject, type JsonObject } from "#lib/domain/canonical-json";
import { AppError, type FieldError } from "#lib/errors";

const maxBytes = 64 * 1024;
const maxDepth = 32;

/** At most 64 KiB. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  const tooLarge = () => new AppError("payload_too_large", `the body may have at most ${maxBytes} bytes`);
  if (declared > maxBytes) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw tooLarge();
    }
    chunks.push(value);
  }
}

function refuse(detail: string): AppError {
  return new AppError("bad_request", detail);
}

function checkNumber(value: number): void {
  if (!Number.isFinite(value)) throw refuse("the body has a number that is too large");
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw refuse("the body has a whole number beyond 2^53-1, which JSON readers round differently");
  }
}

function toPointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** What `JSON.parse` lets through and a signed document must not have. Returns the strings with U+0000. */
function inspect(text: string): FieldError[] {
  const keysOfOpenObjects: Set<string>[] = [];
  const nulErrors: FieldError[] = [];
  let depth = 0;
  const enter = () => {
    depth += 1;
    if (depth > maxDepth) throw refuse(`the body may be at most ${maxDepth} levels deep`);
  };
  const checkText = (value: string, path: () => readonly (string | number)[]) => {
    if (!value.isWellFormed()) throw refuse("the body has a string with a lone surrogate");
    if (value.includes("\0"))
      nulErrors.push({ pointer: toPointer(path()), message: "must not contain U+0000" });
  };
  visit(text, {
    onObjectBegin: () => {
      enter();
      keysOfOpenObjects.push(new Set());
    },
    onObjectProperty: (name, _offset, _length, _line, _character, path) => {
      checkText(name, path);
      if (name === "__proto__") throw refuse("the body has a key named __proto__");
      const keys = keysOfOpenObjects.at(-1);
      if (keys?.has(name))
        throw refuse(`the body has the key ${JSON.stringify(name.slice(0, 64))} twice in one object`);
      keys?.add(name);
    },
    onObjectEnd: () => {
      depth -= 1;
      keysOfOpenObjects.pop();
    },
    onArrayBegin: enter,
    onArrayEnd: () => {
      depth -= 1;
    },
    onLiteralValue: (value, _offset, _length, _line, _character, path) => {
      if (typeof value === "string") checkText(value, path);
      if (typeof value === "number") checkNumber(value);
    },
  });
  return nulErrors;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse("the body is not JSON");
  }
}

export function parseStrictObject(bytes: Uint8Array): JsonObject {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refuse("the body is not UTF-8");
  }
  const value = parse(text);
  const nulErrors = inspect(text);
  if (!isJsonObject(value)) throw refuse("the body must be a JSON object");
  if (nulErrors[0]) {
    throw new AppError("validation_error", `${nulErrors[0].pointer.slice(1)}: ${nulErrors[0].message}`, {
      errors: nulErrors,
    });
  }
  return value;
}

export async function readJsonObject(request: Request): Promise<JsonObject> {
  return parseStrictObject(await readBytes(request));
}
