/**
 * Start of the service's keys and log. In an empty database: make what is not given, open log 1. In any other:
 * the keys at hand must be the active ones, or the start stops with a message that says what to do. A second
 * instance with a folder of its own cannot invent keys, because emptiness is judged under the start lock.
 */
import { isNull } from "drizzle-orm";
import { type Database, type Executor, withStartLock } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import { signCheckpoint } from "#lib/domain/checkpoint";
import { zkKeyId, zkKeyPairFromSeed } from "#lib/domain/disclosure";
import { emptyRoot } from "#lib/domain/merkle";
import { makeVerifierKey } from "#lib/domain/signed-note";
import { activeKeyId, type KeyPurpose, type Signers } from "./signing-keys";

/** The secret keys at hand: what settings give, else what files hold. */
export interface KeySource {
  load(): Promise<Partial<Signers>>;
  /** Makes and keeps those that are missing. */
  create(missing: KeyPurpose[]): Promise<void>;
  /** Where a key is looked for, for messages: `SIGNING_KEY or ./data/keys/signing-key`. */
  describe(purpose: KeyPurpose): string;
}

const members = { attestation: "signer", log: "logSigner", zk: "zkSeed" } as const satisfies Record<
  KeyPurpose,
  keyof Signers
>;
const purposes: KeyPurpose[] = ["attestation", "log", "zk"];

function isComplete(found: Partial<Signers>): found is Signers {
  return purposes.every((purpose) => found[members[purpose]] !== undefined);
}

async function idAndPublicKey(
  found: Signers,
  purpose: KeyPurpose,
): Promise<{ keyId: string; publicKey: Uint8Array }> {
  if (purpose === "attestation") return found.signer;
  if (purpose === "log") return found.logSigner;
  const { publicKey } = await zkKeyPairFromSeed(found.zkSeed);
  return { keyId: zkKeyId(publicKey), publicKey };
}

export async function insertLog(tx: Executor, id: number, origin: string, found: Signers): Promise<void> {
  const checkpoint = await signCheckpoint(
    { origin, size: 0, root: emptyRoot() },
    makeVerifierKey(origin, 1, found.logSigner.publicKey),
    (bytes) => found.logSigner.sign(bytes),
  );
  await tx
    .insert(logs)
    .values({ id, origin, key_id: found.logSigner.keyId, size: 0, root: emptyRoot(), checkpoint });
}

async function makeFirst(tx: Executor, source: KeySource, origin: string): Promise<Signers> {
  const found = await source.load();
  await source.create(purposes.filter((purpose) => found[members[purpose]] === undefined));
  const complete = await source.load();
  if (!isComplete(complete)) throw new Error("keys that were just made cannot be read back");
  await insertLog(tx, 1, origin, complete);
  for (const purpose of purposes) {
    const { keyId, publicKey } = await idAndPublicKey(complete, purpose);
    const valid_from_index = purpose === "attestation" ? 0 : null;
    await tx.insert(signingKeys).values({
      key_id: keyId,
      purpose,
      public_key: publicKey,
      status: "active",
      log_id: 1,
      valid_from_index,
    });
  }
  return complete;
}

function mismatch(source: KeySource, purpose: KeyPurpose, problem: string): Error {
  return new Error(
    `Countersign cannot start: the ${purpose} key ${problem}. It is looked for in ${source.describe(purpose)}. ` +
      "Bring the key back that belongs to this database (from your backup of DATA_DIR or your settings). " +
      "If it is really lost, its old signatures stay valid, but nothing new can be signed under it: rotate with `npm run keys -- rotate`. " +
      "New keys are made for an empty database only.",
  );
}

/** The keys at hand against the active ones; throws with what to do about a lost, foreign or changed key. */
async function requireActive(executor: Executor, source: KeySource): Promise<Signers> {
  const found = await source.load();
  for (const purpose of purposes) {
    if (found[members[purpose]] === undefined) throw mismatch(source, purpose, "is missing");
  }
  if (!isComplete(found)) throw new Error("unreachable: every key was just seen");
  for (const purpose of purposes) {
    const { keyId } = await idAndPublicKey(found, purpose);
    const active = await activeKeyId(executor, purpose);
    if (keyId !== active)
      throw mismatch(
        source,
        purpose,
        `at hand (${keyId}) is not the active one of this database (${active})`,
      );
  }
  return found;
}

export async function openSigners(database: Database, source: KeySource, origin: string): Promise<Signers> {
  return withStartLock(database, async (tx) => {
    const [open] = await tx.select({ origin: logs.origin }).from(logs).where(isNull(logs.closed_at));
    if (!open) return makeFirst(tx, source, origin);
    if (open.origin !== origin) {
      throw new Error(
        `Countersign cannot start: LOG_ORIGIN is ${origin}, but this database's log is ${open.origin}. Set LOG_ORIGIN=${open.origin}; an origin never changes within a log.`,
      );
    }
    return requireActive(tx, source);
  });
}

/** The keys for a reload after a rotation; the same rules as at start. */
export async function reloadSigners(database: Database, source: KeySource): Promise<Signers> {
  return requireActive(database.db, source);
}
