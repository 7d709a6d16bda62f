/**
 * Hashes and texts of bytes where there is Node (OpenSSL, Buffer): several times as fast as portable-bytes.ts, which
 * is the other half of `#platform/bytes` in package.json. What comes out is a plain Uint8Array with memory of its own,
 * never a Buffer: slices of a Buffer share its memory, and small ones share a pool.
 */
import { hash } from "node:crypto";

const viewOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** As text between: Node makes a Buffer of a digest in twice the time. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const text = hash("sha256", bytes, "binary");
  const digest = new Uint8Array(32);
  for (let i = 0; i < 32; i += 1) digest[i] = text.charCodeAt(i);
  return digest;
}
export const toHex = (bytes: Uint8Array): string => viewOf(bytes).toString("hex");
export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const toBase64 = (bytes: Uint8Array): string => viewOf(bytes).toString("base64");
export const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
