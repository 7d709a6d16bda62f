/** Hashes and texts of bytes with what every browser has. The texts are well-formed: lib/protocol/encoding/bytes.ts sees to it. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

export { concatBytes };

export const sha256 = (...parts: Uint8Array[]): Uint8Array => nobleSha256(concatBytes(...parts));
export const toHex = (bytes: Uint8Array): string => bytesToHex(bytes);
export const fromHex = (hex: string): Uint8Array => hexToBytes(hex);

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary);
}

export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
