/**
 * The text of an API key: `cs_live_` or `cs_test_`, 30 base62 characters of a CSPRNG and 6 of the CRC-32 over both, so
 * that a typo is refused without a database look-up.
 */
import { crc32 } from "node:zlib";

export const testPrefix = "cs_test_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretLength = 30;
const checksumLength = 6;
const pattern = /^cs_(?:live|test)_[0-9A-Za-z]{36}$/;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < checksumLength; i += 1) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Bytes of 248 and more are passed over, so that every character is equally likely. */
export function createApiKeyText(kind: "live" | "test", random: (length: number) => Uint8Array): string {
  let secret = "";
  while (secret.length < secretLength) {
    for (const byte of random(secretLength)) {
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62];
    }
  }
  const text = `cs_${kind}_${secret}`;
  return text + checksum(text);
}

export function isApiKeyText(text: string): boolean {
  return pattern.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength));
}
