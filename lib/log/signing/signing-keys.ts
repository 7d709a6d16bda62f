/**
 * The service's own keys. They are made for an empty database only (first-keys.ts); afterwards a lost, foreign
 * or changed key stops the start. Which key is active, and for which log indexes a key's signatures are valid,
 * is in the database and, as key events, in the log.
 */

import { createPrivateKey, hkdfSync, type KeyObject } from "node:crypto";
import { and, asc, eq } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import { count } from "#lib/instrumentation";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { computeKeyId, encodePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { type ZkKeyPair, zkKeyPairFromSeed } from "#lib/protocol/presentation/disclosure";
import { makeVerifierKey, type VerifierKey } from "#lib/protocol/tlog/checkpoint";
import { openKeyPair } from "./libsodium";

/* The logs of this service and the key that signs each one's checkpoints. */

export async function readLogs(executor: Executor) {
  const rows = await executor
    .select({ log: logs, publicKey: signingKeys.public_key })
    .from(logs)
    .innerJoin(signingKeys, and(eq(signingKeys.key_id, logs.key_id), eq(signingKeys.purpose, "log")))
    .orderBy(asc(logs.id));
  const again = await executor
    .select({ logId: signingKeys.log_id, publicKey: signingKeys.public_key })
    .from(signingKeys)
    .where(eq(signingKeys.purpose, "log_post_quantum"));
  return rows.map(({ log, publicKey }) => {
    const second = again.find(({ logId }) => logId === log.id);
    return {
      ...log,
      key: makeVerifierKey(log.origin, 1, publicKey),
      postQuantumKey: second ? makeVerifierKey(log.origin, 6, second.publicKey) : null,
    };
  });
}

async function findLogKey(executor: Executor, origin: string): Promise<VerifierKey | null> {
  return (await readLogs(executor)).find((log) => log.origin === origin)?.key ?? null;
}

/** Ed25519 signer. Synchronous: keys wrapped by a KMS are unwrapped at start. */
export interface Signer {
  /** First 16 hex digits of SHA-256 over the raw public key. */
  readonly keyId: string;
  /** 32 bytes */
  readonly publicKey: Uint8Array;
  /** 64 bytes (RFC 8032, pure Ed25519). */
  sign(message: Uint8Array): Uint8Array;
  /** Lends the seed to `run`, which makes so many signatures in another thread. */
  lendSeed<Made>(signatures: number, run: (seed: Uint8Array) => Promise<Made>): Promise<Made>;
  /** 32 bytes from the secret seed, for another key with the same life. A quantum computer finds the scalar, not the seed. */
  deriveSeed(use: string): Uint8Array;
}

export type KeyPurpose = "attestation" | "log" | "zk";
/** The last is the log's second key, which is made from its first and is at hand wherever that is. */
export type KeyEventPurpose = KeyPurpose | "log_post_quantum";

export interface Signers {
  signer: Signer;
  logSigner: Signer;
  /** 32 bytes from which the BBS key pair is made. */
  zkSeed: Uint8Array;
}

/** A public key of ours with the indexes `[from, to)` of one log for which its signatures are valid. */
export interface PublishedKey {
  keyId: string;
  publicKey: Uint8Array;
  publicKeyPem: string;
  status: "active" | "retired" | "revoked";
  logOrigin: string;
  validFromIndex: number;
  validToIndex: number | null;
  createdAt: Date;
  retiredAt: Date | null;
}

export interface SigningKeys {
  /** Signs attestations, decisions and key events. */
  readonly signer: Signer;
  readonly logSigner: Signer;
  zkKeyPair(): Promise<ZkKeyPair>;
  /** Reloads after a rotation by another process; rejects if the new key is not at hand. */
  reload(): Promise<void>;
  logVerifierKey(origin: string): Promise<VerifierKey>;
  /** Lists all attestation keys there ever were, oldest first; once for each log that a key signed in. */
  published(): Promise<PublishedKey[]>;
}

const versions = new WeakMap<readonly PublishedKey[], string>();

/** The same for lists that say the same. */
export function identifyKeys(keys: readonly PublishedKey[]): string {
  const known = versions.get(keys);
  if (known !== undefined) return known;
  const said = keys.map((key) => ({ ...key, publicKey: hexEncode(key.publicKey) }));
  const version = hexEncode(sha256(utf8Encode(JSON.stringify(said))));
  versions.set(keys, version);
  return version;
}

const cacheMs = 1_000;

async function readPublishedKeys(db: Executor): Promise<PublishedKey[]> {
  const rows = await db
    .select({ key: signingKeys, logOrigin: logs.origin })
    .from(signingKeys)
    .innerJoin(logs, eq(logs.id, signingKeys.log_id))
    .where(eq(signingKeys.purpose, "attestation"))
    .orderBy(asc(signingKeys.log_id), asc(signingKeys.valid_from_index), asc(signingKeys.created_at));
  return rows.map(({ key, logOrigin }) => ({
    keyId: key.key_id,
    publicKey: key.public_key,
    publicKeyPem: encodePublicKeyPem(key.public_key),
    status: key.status,
    logOrigin,
    validFromIndex: key.valid_from_index ?? 0,
    validToIndex: key.valid_to_index,
    createdAt: key.created_at,
    retiredAt: key.retired_at,
  }));
}

export async function readAllKeys(db: Executor) {
  return db
    .select({
      purpose: signingKeys.purpose,
      keyId: signingKeys.key_id,
      status: signingKeys.status,
      from: signingKeys.valid_from_index,
      to: signingKeys.valid_to_index,
      logOrigin: logs.origin,
    })
    .from(signingKeys)
    .innerJoin(logs, eq(logs.id, signingKeys.log_id))
    .orderBy(asc(signingKeys.purpose), asc(signingKeys.log_id), asc(signingKeys.created_at));
}

export async function activeKeyId(db: Executor, purpose: KeyPurpose): Promise<string | null> {
  const [row] = await db
    .select({ keyId: signingKeys.key_id })
    .from(signingKeys)
    .where(and(eq(signingKeys.purpose, purpose), eq(signingKeys.status, "active")));
  return row?.keyId ?? null;
}

export function createSigningKeys(
  database: Database,
  first: Signers,
  load: () => Promise<Signers>,
  clock: () => Date,
): SigningKeys {
  let held = first;
  let zkKeyPair: Promise<ZkKeyPair> | null = null;
  let cached: { atMs: number; keys: Promise<PublishedKey[]> } | null = null;
  let reloading: Promise<void> | null = null;
  const logKeys = new Map<string, VerifierKey>();

  async function loadNow(): Promise<void> {
    held = await load();
    zkKeyPair = null;
    cached = null;
  }
  return {
    get signer() {
      return held.signer;
    },
    get logSigner() {
      return held.logSigner;
    },
    zkKeyPair: () => {
      zkKeyPair ??= zkKeyPairFromSeed(held.zkSeed);
      return zkKeyPair;
    },
    reload: () => {
      reloading ??= loadNow().finally(() => {
        reloading = null;
      });
      return reloading;
    },
    logVerifierKey: async (origin) => {
      const known = logKeys.get(origin) ?? (await findLogKey(database.db, origin));
      if (known === null) throw new Error(`the database has no log ${origin}`);
      logKeys.set(origin, known);
      return known;
    },
    published: async () => {
      const nowMs = clock().getTime();
      // A clock that was set back makes nothing younger.
      if (cached === null || Math.abs(nowMs - cached.atMs) > cacheMs) {
        const entry = { atMs: nowMs, keys: readPublishedKeys(database.db) };
        cached = entry;
        entry.keys.catch(() => {
          if (cached === entry) cached = null;
        });
      }
      return cached.keys;
    },
  };
}

/* A signer of a secret key that is at hand: in a setting, in a file, or unwrapped by a KMS. */

/** RFC 8410: the prefix of the seed in PKCS #8. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

function parsePrivateKey(text: string): KeyObject {
  if (text.includes("-----BEGIN")) return createPrivateKey(text.replaceAll("\\n", "\n"));
  const seed = Buffer.from(text, "base64");
  if (seed.length !== 32) throw new Error("not the base64 of a 32-byte seed");
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" });
}

/** `text`: PKCS #8 PEM, or base64 of the 32-byte seed; `name` is the setting or file that messages name. */
export function createLocalSigner(text: string, name: string): Signer {
  let privateKey: KeyObject;
  try {
    privateKey = parsePrivateKey(text.trim());
  } catch (cause) {
    throw new Error(`${name}: must be an Ed25519 private key (PKCS #8 PEM, or base64 of its 32-byte seed)`, {
      cause,
    });
  }
  if (privateKey.asymmetricKeyType !== "ed25519") throw new Error(`${name}: must be an Ed25519 key`);
  const seed = Buffer.from(String(privateKey.export({ format: "jwk" }).d), "base64url");
  // Taken before the seed is wiped; it leads back to nothing.
  const derived = Buffer.from(hkdfSync("sha256", seed, "", "countersign/derived/v1", 32));
  const { publicKey, sign, copySeed } = openKeyPair(seed);
  const keyId = computeKeyId(publicKey);
  return {
    keyId,
    publicKey,
    sign: (message) => {
      count("signature", keyId);
      return sign(message);
    },
    lendSeed: async (signatures, run) => {
      const seed = copySeed();
      try {
        const made = await run(seed);
        for (let i = 0; i < signatures; i += 1) count("signature", keyId);
        return made;
      } finally {
        seed.fill(0);
      }
    },
    deriveSeed: (use) => new Uint8Array(hkdfSync("sha256", derived, "", use, 32)),
  };
}
