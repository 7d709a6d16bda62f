/**
 * Locations of the service's secret keys: settings first, else files of DATA_DIR/keys. A rotation makes `<file>.next` first and
 * renames it when the database has made that key the active one.
 */
import { randomBytes } from "node:crypto";
import type { Env } from "#lib/env";
import type { KeySource, SecretFiles } from "./first-keys";
import type { KeyWrapping } from "./key-wrapping";
import { createLocalSigner, type KeyPurpose, type Signers } from "./signing-keys";

const keyFiles = { attestation: "signing-key", log: "log-signing-key", zk: "zk-signing-key" } as const;
/** Created with the first keys. */
export const authSecretFile = "auth-secret";
const keySettings = { attestation: "SIGNING_KEY", log: "LOG_SIGNING_KEY", zk: "ZK_SIGNING_KEY" } as const;
const purposes: KeyPurpose[] = ["attestation", "log", "zk"];

function decodeZkSeed(text: string, name: string): Uint8Array {
  const seed = new Uint8Array(Buffer.from(text.trim(), "base64"));
  if (seed.length !== 32) throw new Error(`${name}: must be the base64 of a 32-byte seed`);
  return seed;
}

export function parseKeyText(purpose: KeyPurpose, text: string, name: string): Partial<Signers> {
  if (purpose === "zk") return { zkSeed: decodeZkSeed(text, name) };
  const signer = createLocalSigner(text, name);
  return purpose === "attestation" ? { signer } : { logSigner: signer };
}

/** The setting that gives the key of this purpose, if one does. Files are then ignored. */
export function findKeySetting(env: Env, purpose: KeyPurpose): string | null {
  return env[keySettings[purpose]] === undefined ? null : keySettings[purpose];
}

export const randomKeyText = () => randomBytes(32).toString("base64");

const nextFile = (purpose: KeyPurpose) => `${keyFiles[purpose]}.next`;

/**
 * Keeps the key that a rotation or a new log goes on to. An attempt that was interrupted may have left one: `isGood` says
 * that it is as good as this one. Where the old key was stolen from its side it isn't.
 */
export async function keepNextKey(
  files: SecretFiles,
  purpose: KeyPurpose,
  text: string,
  isGood = false,
): Promise<void> {
  const file = nextFile(purpose);
  await files.create(file, text).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    if (isGood) return;
    throw new Error(
      `${files.describe(file)} was left behind by an attempt that did not end, and isn't used here, as others may have read it. ` +
        "Remove it, unless this command is running elsewhere, and run it again.",
    );
  });
}

export async function wrapKeySettings(env: Env, wrapping: KeyWrapping): Promise<string[]> {
  const lines: string[] = [];
  for (const purpose of purposes) {
    const setting = keySettings[purpose];
    const text = env[setting];
    const sealed = text === undefined ? null : await wrapping.rewrap(text, keyFiles[purpose], setting);
    if (sealed !== null) lines.push(`${setting}=${sealed}`);
  }
  return lines;
}

export function createKeySource(env: Env, files: SecretFiles, wrapping: KeyWrapping): KeySource {
  const loadAll = async (ending: string, wanted: readonly KeyPurpose[]): Promise<Partial<Signers>> => {
    const found: Partial<Signers> = {};
    for (const purpose of wanted) {
      const setting = ending === "" ? env[keySettings[purpose]] : undefined;
      const file = `${keyFiles[purpose]}${ending}`;
      const name = setting === undefined ? files.describe(file) : keySettings[purpose];
      const text =
        setting === undefined
          ? await files.read(file)
          : await wrapping.open(setting, keyFiles[purpose], name);
      if (text !== null) Object.assign(found, parseKeyText(purpose, text, name));
    }
    return found;
  };
  return {
    load: (wanted = purposes) => loadAll("", wanted),
    loadNext: (wanted = purposes) => loadAll(".next", wanted),
    promoteNext: (purpose) => files.replace(keyFiles[purpose], nextFile(purpose)),
    create: async (missing) => {
      const names = missing.map((purpose): string => keyFiles[purpose]);
      const needsAuthSecret = env.AUTH_SECRET === undefined && (await files.read(authSecretFile)) === null;
      for (const name of needsAuthSecret ? [...names, authSecretFile] : names)
        await files.create(name, randomKeyText());
    },
    describe: (purpose) => `${keySettings[purpose]} or the file ${files.describe(keyFiles[purpose])}`,
  };
}
