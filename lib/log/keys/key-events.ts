/**
 * Key events (made, retired, revoked) as signed statements and leaves of the log. A key's retirement names its
 * successor and is signed by the key itself, so a reader that trusts the old key can follow to the new one.
 */
import { and, asc, eq, sql } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { keyEvents, logs, signingKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { LogContext } from "#lib/log/context";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  placedColumns,
  submitSigned,
} from "#lib/log/sequencer/entry";
import type { LogSequencer } from "#lib/log/sequencer/sequencer";
import { type KeySource, type PublicHalf, preferActive, publicHalf } from "#lib/log/signing/first-keys";
import type { KeyEventPurpose, Signer, Signers } from "#lib/log/signing/signing-keys";
import { base64Encode, hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import { buildStatement, KEY_EVENT_PREDICATE } from "#lib/protocol/statement/statement";

interface KeyEventFacts {
  event: "made" | "retired" | "revoked";
  purpose: KeyEventPurpose;
  subject: PublicHalf;
  successor?: PublicHalf;
  /** Revoked: the first index of the log for which the key's signatures are not valid; default: the event's own. */
  from?: { logId: number; index: number };
}

export interface KeyEventItem extends LogEntry {
  facts: KeyEventFacts;
  /** ISO 8601 */
  at: string;
}

const isKey = (purpose: KeyEventPurpose, keyId: string) =>
  and(eq(signingKeys.purpose, purpose), eq(signingKeys.key_id, keyId));

/** A log takes one revocation of a key, by the table's primary key. A later log may take one that goes further back. */
const alreadyRevoked =
  "this log has a revocation of this key already, and takes no second one. To revoke more of what it signed, begin a new log (`npm run log -- new-epoch --anyway`) and revoke it there again, with --log and --from-index";

async function admit(tx: Executor, items: KeyEventItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const { facts } of items) {
    const mayWiden = facts.event === "revoked" && facts.purpose === "attestation";
    const [known] = await tx
      .select({ index: keyEvents.leaf_index })
      .from(keyEvents)
      .where(
        and(
          eq(keyEvents.purpose, facts.purpose),
          eq(keyEvents.key_id, facts.subject.keyId),
          eq(keyEvents.event, facts.event),
          mayWiden ? eq(keyEvents.log_id, sql`(SELECT max(id) FROM logs)`) : undefined,
        ),
      );
    const refusal = new AppError(
      "idempotency_conflict",
      mayWiden ? alreadyRevoked : "this key event is in the log already",
    );
    verdicts.push(known ? refusal : null);
  }
  return verdicts;
}

/** Ends the key's range of indexes, and gives the successor its own; BBS keys have no ranges. */
async function changeKeys(tx: Executor, { item, logId, receipt }: Placed<KeyEventItem>): Promise<void> {
  const { event, purpose, subject, successor, from } = item.facts;
  if (event === "made") return;
  const isAttestation = purpose === "attestation";
  if (isAttestation && successor && receipt.index !== receipt.tree_size - 1)
    throw new Error("a rotation is the last leaf of its batch");
  // A key that signs its own retirement is valid for it; its successor begins after.
  const boundary = item.keyId === subject.keyId ? receipt.index + 1 : receipt.index;
  const end = { logId: from?.logId ?? logId, index: from?.index ?? boundary };
  const rows = await tx.select().from(signingKeys).where(isKey(purpose, subject.keyId));
  for (const row of rows) {
    if (isAttestation && row.log_id < end.logId) continue;
    const index = row.log_id === end.logId ? end.index : 0;
    await tx
      .update(signingKeys)
      .set({
        status: event,
        retired_at: row.retired_at ?? new Date(item.at),
        ...(isAttestation && { valid_to_index: Math.min(row.valid_to_index ?? boundary, index) }),
      })
      .where(and(isKey(purpose, subject.keyId), eq(signingKeys.log_id, row.log_id)));
  }
  if (successor === undefined) return;
  await tx.insert(signingKeys).values({
    key_id: successor.keyId,
    purpose,
    public_key: successor.publicKey,
    status: "active",
    log_id: logId,
    valid_from_index: isAttestation ? boundary : null,
  });
}

async function store(tx: Executor, placed: Placed<KeyEventItem>[]): Promise<void> {
  for (const one of placed) {
    const { purpose, subject, event } = one.item.facts;
    await changeKeys(tx, one);
    await tx.insert(keyEvents).values({ ...placedColumns(one), purpose, key_id: subject.keyId, event });
  }
}

export const keyEventKind: LogEntryKind<KeyEventItem> = { kind: "key_event", admit, store };

const describeHalf = ({ keyId, publicKey }: PublicHalf) => ({
  key_id: keyId,
  public_key: base64Encode(publicKey),
});

export function makeKeyEvent(signer: Signer, now: Date, facts: KeyEventFacts): KeyEventItem {
  const { event, purpose, subject, successor, from } = facts;
  const at = now.toISOString();
  const payload = buildStatement(KEY_EVENT_PREDICATE, "public-key", hexEncode(sha256(subject.publicKey)), {
    event,
    purpose,
    ...describeHalf(subject),
    ...(successor && { successor: describeHalf(successor) }),
    ...(from && { not_valid_from_index: from.index }),
    at,
    signed_by: signer.keyId,
  });
  return { keyId: signer.keyId, facts, at, build: () => ({ signer, payload }) };
}

/** Logs the making of every active key that the log does not know yet. Safe to call at each start. */
export async function logMadeKeys(
  context: Pick<LogContext, "database" | "clock" | "keys" | "log" | "logger">,
): Promise<void> {
  const { db } = context.database;
  const rows = await db
    .select()
    .from(signingKeys)
    .where(eq(signingKeys.status, "active"))
    .orderBy(asc(signingKeys.purpose));
  for (const { purpose, key_id, public_key } of rows) {
    const [known] = await db
      .select({ index: keyEvents.leaf_index })
      .from(keyEvents)
      .where(and(eq(keyEvents.purpose, purpose), eq(keyEvents.key_id, key_id), eq(keyEvents.event, "made")));
    if (known) continue;
    const subject = { keyId: key_id, publicKey: public_key };
    await submitSigned(context, keyEventKind, async () =>
      makeKeyEvent(context.keys.signer, context.clock(), { event: "made", purpose, subject }),
    ).catch((error: unknown) => {
      // Another process started at the same time and was first.
      if (!(error instanceof AppError && error.errorName === "idempotency_conflict")) throw error;
    });
  }
}

export async function listKeyEvents(executor: Executor) {
  const rows = await executor
    .select({ event: keyEvents, logOrigin: logs.origin })
    .from(keyEvents)
    .innerJoin(logs, eq(logs.id, keyEvents.log_id))
    .orderBy(asc(keyEvents.log_id), asc(keyEvents.leaf_index));
  return rows.map(({ event, logOrigin }) => ({
    purpose: event.purpose,
    subjectKeyId: event.key_id,
    event: event.event,
    log_origin: logOrigin,
    index: event.leaf_index,
    payload: utf8Decode(event.payload),
    signature: base64Encode(event.signature),
    envelope_signature: base64Encode(event.envelope_signature),
    key_id: event.signed_by,
  }));
}

/*
 * Rotation and revocation of the attestation key and the BBS key (`npm run keys`). The database says which key
 * is active, and the change of it is one transaction with its leaf; files follow. The log's key is not
 * rotated: a log keeps its key, and a new key means a new log (new-epoch.ts).
 */

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

/** Rejects a used key before it is kept as the next one, where it would block others. */
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
  /** Set for attestation keys; BBS keys are not bound to indexes. */
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
