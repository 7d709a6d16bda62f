/** Reading ASN.1 in DER (X.690), as far as time-stamp tokens need it. The bytes are a stranger's: lengths are checked. */
import { concatBytes, hexEncode } from "./bytes";

export interface DerValue {
  /** Class, constructed bit and number in one byte; longer tags are refused. */
  tag: number;
  content: Uint8Array;
  raw: Uint8Array;
}

export const derTags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/** The values one after the other. Throws RangeError for what is not DER. */
export function readDerValues(bytes: Uint8Array): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { tag, start, end } = readHeader(bytes, at);
    values.push({ tag, content: bytes.subarray(start, end), raw: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

function readHeader(bytes: Uint8Array, at: number): { tag: number; start: number; end: number } {
  const tag = bytes[at] ?? 0;
  const first = bytes[at + 1];
  if (first === undefined || (tag & 0x1f) === 0x1f) throw new RangeError("not DER");
  if (first < 0x80) return within(bytes, tag, at + 2, first);
  const count = first & 0x7f;
  const digits = bytes.subarray(at + 2, at + 2 + count);
  if (count === 0 || count > 4 || digits.length < count || digits[0] === 0) throw new RangeError("not DER");
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  if (length < 0x80) throw new RangeError("not DER");
  return within(bytes, tag, at + 2 + count, length);
}

function within(bytes: Uint8Array, tag: number, start: number, length: number) {
  if (start + length > bytes.length) throw new RangeError("not DER");
  return { tag, start, end: start + length };
}

/** The one value that the bytes are. */
export function readDer(bytes: Uint8Array, tag: number): DerValue {
  const [value, ...rest] = readDerValues(bytes);
  return requireDer(rest.length === 0 ? value : undefined, tag);
}

export function requireDer(value: DerValue | undefined, tag: number): DerValue {
  if (value === undefined || value.tag !== tag) throw new RangeError("an unexpected ASN.1 value");
  return value;
}

/** The values inside a SEQUENCE, or another constructed one. */
export function derItems(value: DerValue | undefined, tag: number = derTags.sequence): DerValue[] {
  return readDerValues(requireDer(value, tag).content);
}

/** An OBJECT IDENTIFIER's bytes in hex: identifiers are only compared. */
export function derOid(value: DerValue | undefined): string {
  return hexEncode(requireDer(value, derTags.oid).content);
}

/** RFC 5280, 4.1.2.5: UTCTime, or GeneralizedTime, here with a fraction (RFC 3161). In milliseconds. */
export function derTime(value: DerValue | undefined): number {
  const isShort = value?.tag === derTags.utcTime;
  const { content } = requireDer(value, isShort ? derTags.utcTime : derTags.generalizedTime);
  const text = String.fromCharCode(...content);
  const match = /^(\d{2,4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{1,9}))?Z$/.exec(text);
  const [, year = "", month, day, hour, minute, second, fraction = "0"] = match ?? [];
  if (year.length !== (isShort ? 2 : 4)) throw new RangeError("not a time");
  const century = isShort ? (Number(year) < 50 ? "20" : "19") : "";
  const time = Date.parse(
    `${century}${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`,
  );
  if (Number.isNaN(time)) throw new RangeError("not a time");
  return time;
}

/** Writes a value of at most 127 bytes. */
export function writeDer(tag: number, ...contents: Uint8Array[]): Uint8Array {
  const content = concatBytes(...contents);
  if (content.length > 0x7f) throw new RangeError("longer than one byte of length can say");
  return concatBytes(Uint8Array.of(tag, content.length), content);
}
