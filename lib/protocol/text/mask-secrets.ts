/**
 * Masks what looks like a secret in a line that is shown in passing: titles of lists and mails. What a person approves is
 * never masked, and no hash covers a masked text. A guess: a secret of another form stays.
 */

import { hexDecode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";

/** Shown for the secret, whatever its length. */
const mask = "•••";

/** Keys and tokens that begin with the name of their service. */
const named =
  /\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bnpm_\w{30,}|\bcsk?_[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;
/** `password=…`, `--token …`, `"api_key": "…"`, `Authorization: Bearer …`: the value of a name that says so. */
const assigned =
  /((?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?)["']?\s*(?:[=:]\s*|\s))(["']?)(?!•)([^\s"'&;|]{4,})/gi;
const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g;
/** `https://user:secret@host`. */
const inAddress = /(\b\w+:\/\/[^\s/:@]+:)[^\s/@]+(?=@)/g;
/** 32 characters or more of letters and digits without a word in them: keys in hex and Base64. */
const opaque = /(?<![\w/.-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[A-Za-z0-9+/_=-]{32,}(?![\w/.-])/g;

/** Addresses that people pay to, of a form that no key has: Ethereum's and SegWit's. */
const payee = /^(?:0x[\da-fA-F]{40}|(?:bc|tb|ltc|addr)1[ac-hj-np-z02-9]{38,100})$/;
const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Older addresses of Bitcoin and its kin: 21 bytes and their checksum, where a private key has 33 or more. */
function isBase58Address(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,35}$/.test(text)) return false;
  const number = [...text].reduce((sum, sign) => sum * 58n + BigInt(base58.indexOf(sign)), 0n);
  const hex = number.toString(16).padStart(50, "0");
  return (
    hex.length === 50 && hexEncode(sha256(sha256(hexDecode(hex.slice(0, 42))))).startsWith(hex.slice(42))
  );
}

export const maskSecrets = (text: string): string =>
  text
    .replace(inAddress, `$1${mask}`)
    .replace(named, mask)
    .replace(bearer, `$1 ${mask}`)
    .replace(assigned, `$1$2${mask}`)
    .replace(opaque, (text) => (payee.test(text) || isBase58Address(text) ? text : mask));
