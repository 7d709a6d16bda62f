/** Hashes, texts of bytes and more for browsers and other runtimes. The halves of `#platform/*` for Node are node-*.ts. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

export { concatBytes };

export const sha256 = (...parts: Uint8Array[]): Uint8Array => nobleSha256(concatBytes(...parts));
export const toHex = (bytes: Uint8Array): string => bytesToHex(bytes);
/** The text is well-formed, as in fromBase64: lib/protocol/encoding/bytes.ts sees to it. */
export const fromHex = (hex: string): Uint8Array => hexToBytes(hex);

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary);
}

export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

/** A browser's own Ed25519 doesn't answer at once, and some have none. */
export const holdsWithoutCofactor = (
  _signature: Uint8Array,
  _message: Uint8Array,
  _publicKey: Uint8Array,
): boolean | undefined => undefined;

/** Other runtimes know their proxies themselves. */
export const fetchThroughProxy = (
  _url: string | URL | Request,
  _init?: RequestInit,
): Promise<Response> | null => null;
