/**
 * Protocol Buffers by a table of fields, as far as OTLP needs them: messages come out in the shape of their JSON, with
 * unknown fields left out. Throws RangeError for what is no such message.
 */
import { base64Encode, concatBytes, hexEncode, utf8Decode, utf8Encode } from "./bytes";
import type { JsonObject, JsonValue } from "./canonical-json";

type Scalar = "string" | "bool" | "int64" | "fixed64" | "double" | "enum" | "bytes" | "id";

/** `id`: bytes that OTLP's JSON has as hex. `[type]`: repeated. */
type FieldType = Scalar | (() => Message);
export type Message = Readonly<Record<number, readonly [name: string, type: FieldType | [FieldType]]>>;

const maxDepth = 64;
/** An empty message takes two bytes on the wire and a hundred times that in memory. */
const maxMessages = 200_000;

class Reader {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError("a field ends after its message");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new RangeError("a field ends after its message");
    this.#at += 1;
    return byte;
  }

  /** Reads a tag or a length. */
  count(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a tag or a length has more than five bytes");
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError("a number has more than ten bytes");
  }

  fixed64(): bigint {
    const at = this.#at;
    this.take(8);
    return this.#view.getBigUint64(at, true);
  }

  double(): number {
    const at = this.#at;
    this.take(8);
    return this.#view.getFloat64(at, true);
  }

  /** Bytes behind their length. */
  block(): Uint8Array {
    return this.take(this.count());
  }

  skip(wireType: number): void {
    if (wireType === 0) while (this.#byte() >= 0x80);
    else if (wireType === 1) this.take(8);
    else if (wireType === 2) this.block();
    else if (wireType === 5) this.take(4);
    else throw new RangeError(`the wire type ${wireType} is not in use`);
  }
}

const wireTypes: Record<Scalar, number> = {
  ...{ bool: 0, int64: 0, enum: 0, fixed64: 1, double: 1, string: 2, bytes: 2, id: 2 },
};

const scalars: Record<Scalar, (reader: Reader) => JsonValue> = {
  string: (reader) => readText(reader.block()),
  bool: (reader) => reader.varint() !== 0n,
  int64: (reader) => String(BigInt.asIntN(64, reader.varint())),
  enum: (reader) => Number(BigInt.asIntN(32, reader.varint())),
  fixed64: (reader) => String(reader.fixed64()),
  double: (reader) => reader.double(),
  bytes: (reader) => base64Encode(reader.block()),
  id: (reader) => hexEncode(reader.block()),
};

function readText(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new RangeError("a text is not UTF-8");
  }
}

export function decodeProtobuf(bytes: Uint8Array, message: Message): JsonObject {
  let messages = 0;
  const decode = (part: Uint8Array, fields: Message, depth: number): JsonObject => {
    messages += 1;
    if (messages > maxMessages) throw new RangeError(`more than ${maxMessages} messages`);
    if (depth > maxDepth) throw new RangeError("nested too deeply");
    const reader = new Reader(part);
    const found: JsonObject = {};
    while (!reader.isAtEnd) {
      const tag = reader.count();
      const [number, wireType] = [Math.floor(tag / 8), tag % 8];
      const [name, listed] = fields[number] ?? [];
      const type = Array.isArray(listed) ? listed[0] : listed;
      const isRead = type !== undefined && wireType === (typeof type === "string" ? wireTypes[type] : 2);
      if (name === undefined || !isRead) {
        reader.skip(wireType);
        continue;
      }
      const value =
        typeof type === "string" ? scalars[type](reader) : decode(reader.block(), type(), depth + 1);
      const list = found[name];
      if (!Array.isArray(listed)) found[name] = value;
      else if (Array.isArray(list)) list.push(value);
      else found[name] = [value];
    }
    return found;
  };
  return decode(bytes, message, 1);
}

function encodeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Uint8Array.from([...bytes, rest]);
}

/** Texts, numbers from 0 and whole messages, by field number. What is 0 or empty is left out. */
export function encodeProtobuf(fields: Readonly<Record<number, string | number | Uint8Array>>): Uint8Array {
  const parts = Object.entries(fields).flatMap(([number, value]) => {
    if (typeof value === "number")
      return value === 0 ? [] : [encodeVarint(Number(number) * 8), encodeVarint(value)];
    const block = typeof value === "string" ? utf8Encode(value) : value;
    return block.length === 0
      ? []
      : [encodeVarint(Number(number) * 8 + 2), encodeVarint(block.length), block];
  });
  return concatBytes(...parts);
}
