/** World ID for this process: World itself as the settings say, none, or the local stand-in with an RP key of its own. */

import type { LocalWorldId } from "#lib/emulators/world-id";
import type { Env } from "#lib/env";
import type { SecretFiles } from "#lib/log/signing/first-keys";
import { createWorldChain } from "#lib/services/approvals/world-id/chain";
import { createPortalProvider } from "#lib/services/approvals/world-id/portal";
import { createNoWorldId, type WorldIdProvider } from "#lib/services/approvals/world-id/provider";

interface OpenedWorldId {
  provider: WorldIdProvider;
  local: LocalWorldId | null;
}

/** The curve of the key takes long to load, and only this setting needs it here. */
const readV4Key = async (setting: string) =>
  (await import("#lib/services/approvals/world-id/v4-key")).readV4VerifyingKey(setting);

const localKeyFile = "local-rp-signing-key";

async function readLocalRpKey(files: SecretFiles, random: (length: number) => Uint8Array): Promise<string> {
  const kept = await files.read(localKeyFile);
  if (kept !== null) return kept;
  // Not below secp256k1's order with a chance of 2^-128.
  const made = Buffer.from(random(32)).toString("hex");
  try {
    await files.create(localKeyFile, made);
    return made;
  } catch (error) {
    // Another process that starts now was faster.
    const theirs = await files.read(localKeyFile);
    if (theirs === null) throw error;
    return theirs;
  }
}

export async function openWorldId(
  env: Env,
  files: SecretFiles,
  random: (length: number) => Uint8Array,
): Promise<OpenedWorldId> {
  if (env.worldId === "none") return { provider: createNoWorldId(env.baseUrl), local: null };
  const { WORLD_APP_ID: appId, WORLD_RP_ID: rpId, WORLD_RP_SIGNING_KEY: rpSigningKeyHex } = env;
  if (appId === undefined || rpId === undefined || rpSigningKeyHex === undefined) {
    const { createLocalWorldId } = await import("#lib/emulators/world-id");
    const rpKey = await readLocalRpKey(files, random);
    const local = createLocalWorldId({ baseUrl: env.baseUrl, rpSigningKeyHex: rpKey });
    return { provider: local.provider, local };
  }
  const v4Key = env.WORLD_ID_V4_VERIFYING_KEY;
  const rpcUrl = env.WORLD_CHAIN_RPC_URL;
  const provider = createPortalProvider({
    environment: env.WORLD_ENVIRONMENT,
    idkitConfig: { app_id: appId as `app_${string}`, environment: env.WORLD_ENVIRONMENT },
    rpId,
    rpSigningKeyHex,
    portalUrl: env.WORLD_PORTAL_URL.replace(/\/+$/, ""),
    ...(v4Key === undefined ? {} : { v4KeyJson: await readV4Key(v4Key) }),
    ...(rpcUrl === undefined ? {} : { chain: createWorldChain({ rpcUrl }) }),
  });
  return { provider, local: null };
}
