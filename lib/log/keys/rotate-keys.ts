/**
 * Rotation and revocation of the attestation key and the BBS key (`npm run keys`). The database says which key
 * is active, and the change of it is one transaction with its leaf; files follow. The log's key is not
 * rotated: a log keeps its key, and a new key means a new log (new-epoch.ts).
 */
import { asc, eq } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import type { LogSequencer } from "#lib/log/sequencer/sequencer";
import { type KeySource, preferActive, publicHalf } from "#lib/log/signing/first-keys";
import type { Signer } from "#lib/log/signing/signer";
import type { Signers } from "#lib/log/signing/signing-keys";
import { keyEventKind, makeKeyEvent } from "./key-events";

export type RotatedPurpose = "attestation" | "zk";

export interface KeyContext {
  database: Database;
  source: KeySource;
  log: LogSequencer;
  clock: () => Date;
}

export interface Replacement {
  purpose: RotatedPurpose;
  event: "retired" | "revoked";
  /** Holds the key that becomes the active one. */
  next: Partial<Signers>;
  /** The old attestation key is gone, so the new one signs its retirement. */
  isLost: boolean;
  /** Revoked: the first index whose signature is not valid; default: the revocation's own. */
  from?: RevokedFrom | undefined;
}

interface RevokedFrom {
  logId: number;
  index: number;
}

export interface KeyChange {
  keyId: string;
  successorKeyId: string | null;
  index: number;
}

/** The rows of all keys of a purpose, oldest log first. */
async function readRows(database: Database, purpose: RotatedPurpose) {
  return database.db
    .select({ key: signingKeys, origin: logs.origin, size: logs.size })
    .from(signingKeys)
    .innerJoin(logs, eq(logs.id, signingKeys.log_id))
    .where(eq(signingKeys.purpose, purpose))
    .orderBy(asc(signingKeys.log_id));
}

/**
 * `log`: its number or origin; default: the newest log that the key has signed in. Throws if nothing that the key signed
 * there from this index on is valid: such a revocation would change nothing.
 */
export async function findStart(
  database: Database,
  keyId: string,
  index: number,
  log: string | undefined,
): Promise<RevokedFrom> {
  const own = (await readRows(database, "attestation")).filter(({ key }) => key.key_id === keyId);
  if (own.length === 0) throw new Error(`there is no attestation key ${keyId}`);
  const row =
    log === undefined
      ? own.at(-1)
      : own.find(({ key, origin }) => origin === log || String(key.log_id) === log);
  const origins = own.map(({ origin }) => origin).join(", ");
  if (!row) throw new Error(`the key ${keyId} has not signed in log ${log}, but in ${origins}`);
  const end = row.key.valid_to_index ?? row.size;
  if (index < end) return { logId: row.key.log_id, index };
  throw new Error(
    `in ${row.origin} the signatures of key ${keyId} are valid below index ${end} alone, so revoking it from ${index} on changes nothing. ` +
      `If you mean an index of an older log, name it with --log (the key has signed in ${origins}).`,
  );
}

/** The active attestation key, which signs the events of both purposes. `remedy`: what else helps if it is not at hand. */
async function requireActiveSigner({ database, source }: KeyContext, remedy = ""): Promise<Signer> {
  const { found, active } = await preferActive(database.db, source);
  if (found.signer?.keyId === active.attestation) return found.signer;
  const place = source.describe("attestation");
  throw new Error(`the active attestation key ${active.attestation} is not at hand (${place}).${remedy}`);
}

/** An attestation key signs its own retirement too, unless it is lost or revoked: then its successor does. */
async function chooseSigner(
  context: KeyContext,
  { purpose, event, next, isLost }: Replacement,
  activeKeyId: string,
): Promise<{ signer: Signer; replacesKeyId?: string }> {
  if (purpose === "zk") return { signer: await requireActiveSigner(context) };
  if ((isLost || event === "revoked") && next.signer)
    return { signer: next.signer, replacesKeyId: activeKeyId };
  return { signer: await requireActiveSigner(context, " If it is really lost, add --lost.") };
}

/** Before it is kept as the next key, where it would stay in the way of others. */
export async function requireUnused(
  database: Database,
  purpose: RotatedPurpose,
  next: Partial<Signers>,
): Promise<void> {
  const half = await publicHalf(next, purpose);
  if ((await readRows(database, purpose)).some(({ key }) => key.key_id === half?.keyId))
    throw new Error(`key ${half?.keyId} was this service's ${purpose} key before: give a new one`);
}

export async function replaceActiveKey(context: KeyContext, replacement: Replacement): Promise<KeyChange> {
  const { purpose, event, next, from } = replacement;
  const rows = await readRows(context.database, purpose);
  const active = rows.find(({ key }) => key.status === "active")?.key;
  const successor = await publicHalf(next, purpose);
  if (!active || successor === null)
    throw new Error(`there is no ${purpose} key to replace, or none to go on to`);
  await requireUnused(context.database, purpose, next);
  const { signer, replacesKeyId } = await chooseSigner(context, replacement, active.key_id);
  const item = makeKeyEvent(signer, context.clock(), {
    event,
    purpose,
    subject: { keyId: active.key_id, publicKey: active.public_key },
    successor,
    ...(from && { from }),
  });
  const { receipt } = await context.log.submit(keyEventKind, { ...item, replacesKeyId });
  await context.source.promoteNext(purpose);
  const made = { event: "made", purpose, subject: successor } as const;
  const maker = purpose === "attestation" ? (next.signer ?? signer) : signer;
  await context.log.submit(keyEventKind, makeKeyEvent(maker, context.clock(), made));
  return { keyId: active.key_id, successorKeyId: successor.keyId, index: receipt.index };
}

/** A key that is no longer active: its signatures from this index on, and in later logs, become invalid. */
export async function revokeRetiredKey(
  context: KeyContext,
  purpose: RotatedPurpose,
  keyId: string,
  /** For attestation keys; BBS keys are not bound to indexes. */
  from: RevokedFrom | undefined,
): Promise<KeyChange> {
  const rows = await readRows(context.database, purpose);
  const row = rows.find(({ key }) => key.key_id === keyId);
  if (!row) throw new Error(`there is no ${purpose} key ${keyId}`);
  if (from === undefined && purpose === "attestation")
    throw new Error(
      "A retired key needs --from-index: the first log index from which it must not be trusted.",
    );
  const signer = await requireActiveSigner(context);
  const subject = { keyId, publicKey: row.key.public_key };
  const facts = { event: "revoked", purpose, subject, ...(from && { from }) } as const;
  const item = makeKeyEvent(signer, context.clock(), facts);
  const { receipt } = await context.log.submit(keyEventKind, item);
  return { keyId, successorKeyId: null, index: receipt.index };
}
