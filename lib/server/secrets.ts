/** The secrets of this deployment, all of them from AUTH_SECRET or its file. */
import { hkdfSync, randomFillSync } from "node:crypto";
import type { Secrets } from "#lib/api/http/context";
import type { Env } from "#lib/env";
import type { SecretFiles } from "#lib/log/signing/first-keys";
import { authSecretFile } from "#lib/log/signing/key-source";

/** Created with the first keys only: a second instance with a secret of its own would refuse the first one's links. */
async function readAuthSecret(env: Env, files: SecretFiles): Promise<string> {
  const secret = env.AUTH_SECRET ?? (await files.read(authSecretFile));
  if (secret !== null) return secret;
  throw new Error(
    `Countersign cannot start: AUTH_SECRET is not set and the file ${files.describe(authSecretFile)} is missing, but this database is in use. ` +
      "Restore the file, or set AUTH_SECRET to the other processes' value. If it is lost, set AUTH_SECRET to a new one: that ends sessions, email codes and open approval links, and webhook endpoints must be rotated.",
  );
}

/** Derives one secret for each use, so that none of them gives another away. */
function deriveSecrets(authSecret: string): Secrets {
  const derive = (use: string, length = 32) =>
    new Uint8Array(hkdfSync("sha256", authSecret, "", `countersign/${use}`, length));
  return {
    emailCode: derive("email-code"),
    approvalLink: derive("approval-link"),
    approverLink: derive("approver-link"),
    mcpState: derive("mcp-state"),
    webPush: derive("web-push", 48),
    webhookKeys: derive("webhook-keys"),
    knownDevice: derive("known-device"),
    session: Buffer.from(derive("session")).toString("base64"),
  };
}

export const openSecrets = async (env: Env, files: SecretFiles): Promise<Secrets> =>
  deriveSecrets(await readAuthSecret(env, files));

/*
 * Random bytes of the system's generator, asked for in bulk: a call for each identifier and salt costs more than its
 * bytes. No byte is given out twice or kept after it was.
 */

const poolBytes = 4096;

export function createRandom(
  fill: (pool: Uint8Array) => void = randomFillSync,
): (length: number) => Uint8Array {
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  return (length) => {
    if (length > poolBytes) {
      const bytes = new Uint8Array(length);
      fill(bytes);
      return bytes;
    }
    if (used + length > poolBytes) {
      fill(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + length);
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
}
