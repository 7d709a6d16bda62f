/**
 * Entry point of the log's worker thread: signs checkpoints by ML-DSA, at most one a second, and large batches, and verifies
 * and deflates the entries of evidence packs. Bundled to dist/log-worker.mjs; it loads nothing else, so that a start of it
 * costs little.
 */
import "#lib/platform/node-wasm";
import { hash } from "node:crypto";
import { crc32, deflateRawSync, type ZlibOptions } from "node:zlib";
import { type JoinedBytes, joinBytes, splitBytes } from "#lib/protocol/encoding/bytes";
import { signStatement } from "#lib/protocol/tlog/log-leaf";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";
import { openKeyPair, verifySignature } from "./libsodium";

export async function signMlDsa({ seed, message }: { seed: Uint8Array; message: Uint8Array }) {
  const mlDsa = await loadMlDsa();
  const { publicKey, secretKey } = mlDsa.keygen(seed);
  const signature = mlDsa.sign(message, secretKey);
  secretKey.fill(0);
  return { publicKey, signature };
}

export interface SigningJob extends JoinedBytes {
  seed: Uint8Array;
}

/** Overwrites the seed. Each payload becomes its signature, its envelope's, and its leaf. */
export function signStatements({ seed, ...payloads }: SigningJob): JoinedBytes {
  const signer = openKeyPair(Buffer.from(seed.buffer));
  const signed = splitBytes(payloads).map((payload) => signStatement(signer, payload));
  return joinBytes(
    signed.flatMap(({ signature, envelopeSignature, leaf }) => [signature, envelopeSignature, leaf]),
  );
}

/** Verdicts of libsodium, which isn't strict about keys. Each part is a key, a signature and the message. */
export const verifySignatures = (signed: JoinedBytes): boolean[] =>
  splitBytes(signed).map((one) =>
    verifySignature(one.subarray(32, 96), one.subarray(96), one.subarray(0, 32)),
  );

/** Deflates files as an archive has them, each in one piece. */
export function deflateFiles({ options, ...joined }: JoinedBytes & { options: ZlibOptions }) {
  const files = splitBytes(joined);
  const deflated = files.map((file) =>
    deflateRawSync(file, { ...options, chunkSize: Math.max(64, file.length) }),
  );
  return {
    deflated: joinBytes(deflated),
    crcs: files.map((file) => crc32(file)),
    digests: files.map((file) => hash("sha256", file)),
  };
}
