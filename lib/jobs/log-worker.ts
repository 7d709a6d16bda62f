/**
 * Entry point of the log's worker thread, which makes its second signature: some milliseconds each, a second at most one.
 * Bundled to dist/log-worker.mjs; it loads nothing else, so that a start of it costs little.
 */
import "#lib/platform/node-wasm";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";

export async function signMlDsa({ seed, message }: { seed: Uint8Array; message: Uint8Array }) {
  const mlDsa = await loadMlDsa();
  const { publicKey, secretKey } = mlDsa.keygen(seed);
  const signature = mlDsa.sign(message, secretKey);
  secretKey.fill(0);
  return { publicKey, signature };
}
