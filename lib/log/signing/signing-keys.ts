/**
 * The service's own keys. They are made for an empty database only (first-keys.ts); afterwards a lost, foreign
 * or changed key stops the start. Which key is active, and for which log indexes a key's signatures are valid,
 * is in the database and, as key events, in the log.
 */
import { and, asc, eq } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { encodePublicKeyPem } from "#lib/protocol/keys/ed25519-key";
import { type ZkKeyPair, zkKeyPairFromSeed } from "#lib/protocol/presentation/disclosure";
import type { VerifierKey } from "#lib/protocol/tlog/signed-note";
import { findLogKey } from "./log-keys";
import type { Signer } from "./signer";

export type KeyPurpose = "attestation" | "log" | "zk";

/** Whatever holds the secret keys: settings first, then files. */
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
  /** The active BBS key pair, derived once. */
  zkKeyPair(): Promise<ZkKeyPair>;
  /** After a rotation by another process; rejects if the new key is not at hand. */
  reload(): Promise<void>;
  /** The key of the log with this origin, the open one or an older one. */
  logVerifierKey(origin: string): Promise<VerifierKey>;
  /** All attestation keys there ever were, oldest first; once for each log that a key signed in. */
  published(): Promise<PublishedKey[]>;
}

const versions = new WeakMap<readonly PublishedKey[], string>();

/** The same for lists that say the same. */
export function versionOf(keys: readonly PublishedKey[]): string {
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

/** Keys of every purpose, for the operator. */
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

/** The active key's id of a purpose; null in an empty database. */
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
