/**
 * Hashes and texts of bytes where there is Node (OpenSSL, Buffer): several times as fast as portable.ts, which
 * is the other half of `#platform/bytes` in package.json. What comes out is a plain Uint8Array with memory of its own,
 * never a Buffer: slices of a Buffer share its memory, and small ones share a pool.
 */
import crypto from "node:crypto";

const toBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function sumLengths(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

function fill(bytes: Uint8Array, parts: readonly Uint8Array[]): Uint8Array {
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}

export const concatBytes = (...parts: Uint8Array[]): Uint8Array =>
  fill(new Uint8Array(sumLengths(parts)), parts);

/** Short inputs in parts are joined here before hashing, which saves an allocation. */
const scratch = new Uint8Array(4096);

function joinInScratch(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const length = sumLengths(parts);
  return length > scratch.length ? concatBytes(...parts) : fill(scratch, parts).subarray(0, length);
}

/** Digest as text, because Node makes a Buffer of it in twice the time. Node before 20.12 has no `hash`, which is faster. */
const digestText: (bytes: Uint8Array) => string =
  "hash" in crypto
    ? (bytes) => crypto.hash("sha256", bytes, "binary")
    : (bytes) => crypto.createHash("sha256").update(bytes).digest("binary");

export function sha256(...parts: Uint8Array[]): Uint8Array {
  const text = digestText(joinInScratch(parts));
  const digest = new Uint8Array(32);
  for (let i = 0; i < 32; i += 1) digest[i] = text.charCodeAt(i);
  return digest;
}

const scratchBuffer = toBuffer(scratch);

/** Short bytes are copied: a Buffer over them would first move them out of V8's heap. */
function toText(bytes: Uint8Array, encoding: "hex" | "base64"): string {
  if (bytes.length > scratch.length) return toBuffer(bytes).toString(encoding);
  scratch.set(bytes);
  return scratchBuffer.toString(encoding, 0, bytes.length);
}

export const toHex = (bytes: Uint8Array): string => toText(bytes, "hex");
export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const toBase64 = (bytes: Uint8Array): string => toText(bytes, "base64");
export const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
