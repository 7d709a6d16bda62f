/**
 * The data of a leaf: canonical JSON in the form of Rekor's `dsse` 0.0.1 entry, which Sigstore's verifiers
 * read. Hashes and a signature only, so erasing a payload leaves the log valid:
 *
 *     {"apiVersion":"0.0.1","kind":"dsse","spec":{"envelopeHash":{"algorithm":"sha256","value":"…"},
 *      "payloadHash":{"algorithm":"sha256","value":"…"},"signatures":[{"signature":"…","verifier":"<base64 of PEM>"}]}}
 */
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  concatBytes,
  hexDecode,
  hexEncode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { decodePublicKeyPem, encodePublicKeyPem, SIGNATURE_BYTES } from "#lib/protocol/keys/ed25519";
import {
  type Envelope,
  encodeEnvelope,
  requireFields,
  requireString,
  signEnvelope,
} from "#lib/protocol/statement/dsse";
import { TILE_WIDTH } from "./tiles";

export const LEAF_KIND = "dsse";
export const LEAF_VERSION = "0.0.1";

export type LogLeaf = {
  envelopeHash: Uint8Array;
  payloadHash: Uint8Array;
  signature: Uint8Array;
  publicKey: Uint8Array;
};

export function makeLogLeaf(
  envelope: Envelope,
  publicKey: Uint8Array,
  payloadHash = sha256(envelope.payload),
): LogLeaf {
  return {
    envelopeHash: sha256(encodeEnvelope(envelope)),
    payloadHash,
    signature: envelope.signature,
    publicKey,
  };
}

/** Canonical JSON, written out because every verification does it; the names are in their canonical order. */
export function encodeLogLeaf({ envelopeHash, payloadHash, signature, publicKey }: LogLeaf): Uint8Array {
  if (!bytesEqual(lastVerifier.publicKey, publicKey))
    lastVerifier = {
      publicKey: publicKey.slice(),
      text: base64Encode(utf8Encode(encodePublicKeyPem(publicKey))),
    };
  const signed = `{"signature":"${base64Encode(signature)}","verifier":"${lastVerifier.text}"}`;
  const hashes = `"envelopeHash":${encodeDigest(envelopeHash)},"payloadHash":${encodeDigest(payloadHash)}`;
  return utf8Encode(
    `{"apiVersion":"${LEAF_VERSION}","kind":"${LEAF_KIND}","spec":{${hashes},"signatures":[${signed}]}}`,
  );
}

/** Cache of one: a single key signs most entries. */
let lastVerifier = { publicKey: new Uint8Array(), text: "" };

/** Throws RangeError or SyntaxError for all bytes but those that {@link encodeLogLeaf} writes. */
export function parseLogLeaf(data: Uint8Array): LogLeaf {
  const entry = requireFields(parseStrictJson(decodeText(data)), ["apiVersion", "kind", "spec"]);
  const spec = requireFields(entry.spec, ["envelopeHash", "payloadHash", "signatures"]);
  if (!Array.isArray(spec.signatures) || spec.signatures.length !== 1) {
    throw new RangeError("not exactly one signature");
  }
  const { signature, verifier } = requireFields(spec.signatures[0], ["signature", "verifier"]);
  const leaf: LogLeaf = {
    envelopeHash: decodeDigest(spec.envelopeHash),
    payloadHash: decodeDigest(spec.payloadHash),
    signature: base64Decode(requireString(signature)),
    publicKey: decodePublicKeyPem(decodeText(base64Decode(requireString(verifier)))),
  };
  if (leaf.signature.length !== SIGNATURE_BYTES) throw new RangeError("an Ed25519 signature has 64 bytes");
  if (!bytesEqual(encodeLogLeaf(leaf), data)) throw new RangeError("not the canonical form of a leaf");
  return leaf;
}

/* A statement of the service, signed twice (as it is and as an envelope), and its leaf. */

export interface SealedStatement {
  payload: Uint8Array;
  payloadHash: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  leaf: Uint8Array;
}

interface Signing {
  publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}

export function signStatement(
  signer: Signing,
  payload: Uint8Array,
  payloadHash = sha256(payload),
): SealedStatement {
  const envelope = signEnvelope(payload, signer.publicKey, (bytes) => signer.sign(bytes));
  const leaf = encodeLogLeaf(makeLogLeaf(envelope, signer.publicKey, payloadHash));
  const signature = signer.sign(payload);
  return { payload, payloadHash, signature, envelopeSignature: envelope.signature, leaf };
}

/** Compares every field. `payloadHash`: of the envelope's payload, if it is known. */
export function leafMatchesEnvelope(
  data: Uint8Array,
  envelope: Envelope,
  publicKey: Uint8Array,
  payloadHash?: Uint8Array,
): boolean {
  return bytesEqual(data, encodeLogLeaf(makeLogLeaf(envelope, publicKey, payloadHash)));
}

const encodeDigest = (hash: Uint8Array) => `{"algorithm":"sha256","value":"${hexEncode(hash)}"}`;

function decodeDigest(value: JsonValue): Uint8Array {
  const digest = requireFields(value, ["algorithm", "value"]);
  const hash = hexDecode(requireString(digest.value));
  if (digest.algorithm !== "sha256" || hash.length !== 32) throw new RangeError("not a SHA-256 digest");
  return hash;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new RangeError("not UTF-8");
  }
}

/*
 * Entry bundles (c2sp.org/tlog-tiles, "Log entries"): for each entry `uint16be length ‖ data`, at most 256.
 */

const MAX_ENTRY_BYTES = 0xffff;

/** Throws RangeError if there are none or more than 256 entries, or one is too long. */
export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw new RangeError("a bundle has 1 to 256 entries");
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY_BYTES) throw new RangeError("an entry has at most 65,535 bytes");
    parts.push(Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry);
  }
  return concatBytes(...parts);
}

/** Throws RangeError for anything but 1 to 256 whole entries. */
export function decodeEntryBundle(bytes: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const [high, low] = bytes.subarray(offset, offset + 2);
    if (high === undefined || low === undefined) throw new RangeError("truncated entry bundle");
    const end = offset + 2 + high * 256 + low;
    if (end > bytes.length) throw new RangeError("truncated entry bundle");
    entries.push(bytes.slice(offset + 2, end));
    offset = end;
  }
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw new RangeError("a bundle has 1 to 256 entries");
  return entries;
}

/*
 * Names and paths of the logs of one service. Log 1 has the configured origin and is at /log/; a later log (a new
 * epoch) has an origin and a path of its own, because to witnesses and caches an origin is one history and a tile never
 * changes.
 */

/** `example.com/log`, then `example.com/log/2` and so on. */
export function originOfLog(firstOrigin: string, logId: number): string {
  return logId === 1 ? firstOrigin : `${firstOrigin}/${logId}`;
}

/** Path of the log's checkpoint and tiles, without a slash at the end. */
export function pathOfLog(logId: number): string {
  return logId === 1 ? "/log" : `/log/${logId}`;
}
