/**
 * The service's own keys. They are made for an empty database only; afterwards a lost, foreign or changed key
 * stops the start. Which key is active, and for which log indexes a key's signatures are valid, stands in the
 * database and in the log as key events.
 */
import { and, asc, eq } from "drizzle-orm";
import { encodePublicKeyPem } from "#lib/domain/ed25519-key";
import { encodeVerifierKey, makeVerifierKey, type VerifierKey } from "#lib/domain/signed-note";
import type { Database, Executor } from "#lib/db/client";
import { signingKeys } from "#lib/db/schema";
import type { Signer } from "#lib/providers/signer";

export type KeyPurpose = "attestation" | "log" | "zk";

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
    .orderBy(asc(signingKeys.created_at), asc(signingKeys.valid_from_index));
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

export function createSigningKeys(database: Database, signer: Signer, logSigner: Signer, clock: () => Date): SigningKeys {
  let cached: { atMs: number; keys: PublishedKey[] } | null = null;
  return {
    signer,
    logSigner,
    logVerifierKey: (origin) => makeVerifierKey(origin, 1, logSigner.publicKey),
    logVkey: (origin) => encodeVerifierKey(makeVerifierKey(origin, 1, logSigner.publicKey)),
    published: async () => {
      const nowMs = clock().getTime();
      if (cached === null || nowMs - cached.atMs > cacheMs) cached = { atMs: nowMs, keys: await readPublishedKeys(database.db) };
      return cached.keys;
    },
  };
}

/** The active key's id of a purpose; null in an empty database. */
export async function activeKeyId(db: Executor, purpose: KeyPurpose): Promise<string | null> {
  const [row] = await db
    .select({ keyId: signingKeys.key_id })
    .from(signingKeys)
    .where(and(eq(signingKeys.purpose, purpose), eq(signingKeys.status, "active")));
  return row?.keyId ?? null;
}
