/**
 * The service's own keys. They are made for an empty database only (first-keys.ts); afterwards a lost, foreign
 * or changed key stops the start. Which key is active, and for which log indexes a key's signatures are valid,
 * stands in the database and, as key events, in the log.
 */
import { and, asc, eq } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { signingKeys } from "#lib/db/schema";
import { type ZkKeyPair, zkKeyPairFromSeed } from "#lib/domain/disclosure";
import { encodePublicKeyPem } from "#lib/domain/ed25519-key";
import { encodeVerifierKey, makeVerifierKey, type VerifierKey } from "#lib/domain/signed-note";
import type { Signer } from "#lib/providers/signer";

export type KeyPurpose = "attestation" | "log" | "zk";

/** Whatever holds the secret keys: settings first, then files. */
export interface Signers {
  signer: Signer;
  logSigner: Signer;
  /** 32 bytes from which the BBS key pair is made. */
  zkSeed: Uint8Array;
}

/** A public key of ours with the log indexes for which its signatures are valid: `[from, to)`. */
export interface PublishedKey {
  keyId: string;
  publicKey: Uint8Array;
  publicKeyPem: string;
  status: "active" | "retired" | "revoked";
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
  /** After a rotation by another process. */
  reload(): Promise<void>;
  logVerifierKey(origin: string): VerifierKey;
  logVkey(origin: string): string;
  /** All attestation keys there ever were, oldest first. */
  published(): Promise<PublishedKey[]>;
}

const cacheMs = 1_000;

export async function readPublishedKeys(db: Executor): Promise<PublishedKey[]> {
  const rows = await db
    .select()
    .from(signingKeys)
    .where(eq(signingKeys.purpose, "attestation"))
    .orderBy(asc(signingKeys.valid_from_index));
  return rows.map((row) => ({
    keyId: row.key_id,
    publicKey: row.public_key,
    publicKeyPem: encodePublicKeyPem(row.public_key),
    status: row.status,
    validFromIndex: row.valid_from_index ?? 0,
    validToIndex: row.valid_to_index,
    createdAt: row.created_at,
    retiredAt: row.retired_at,
  }));
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
  let cached: { atMs: number; keys: PublishedKey[] } | null = null;
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
    reload: async () => {
      held = await load();
      zkKeyPair = null;
      cached = null;
    },
    logVerifierKey: (origin) => makeVerifierKey(origin, 1, held.logSigner.publicKey),
    logVkey: (origin) => encodeVerifierKey(makeVerifierKey(origin, 1, held.logSigner.publicKey)),
    published: async () => {
      const nowMs = clock().getTime();
      if (cached === null || nowMs - cached.atMs > cacheMs)
        cached = { atMs: nowMs, keys: await readPublishedKeys(database.db) };
      return cached.keys;
    },
  };
}
