/** Key events (made, retired, revoked) as signed statements and leaves of the log. */
import { and, asc, eq } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { keyEvents, signingKeys } from "#lib/db/schema";
import { base64Encode, hexEncode, sha256, utf8Decode } from "#lib/domain/bytes";
import { signEnvelope } from "#lib/domain/dsse";
import { encodeLogLeaf, makeLogLeaf } from "#lib/domain/log-leaf";
import { buildStatement, KEY_EVENT_PREDICATE } from "#lib/domain/statement";
import { AppError } from "#lib/errors";
import type { Context } from "./context";
import type { LogItem, LogItemKind, Placed } from "./log-sequencer";
import type { KeyPurpose } from "./signing-keys";

export interface KeyEventItem extends LogItem {
  event: "made" | "retired" | "revoked";
  purpose: KeyPurpose;
  subjectKeyId: string;
  logId: number;
  payload: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
}

function isRow(item: KeyEventItem) {
  return and(
    eq(keyEvents.purpose, item.purpose),
    eq(keyEvents.key_id, item.subjectKeyId),
    eq(keyEvents.event, item.event),
    eq(keyEvents.log_id, item.logId),
  );
}

async function admit(tx: Executor, items: KeyEventItem[]): Promise<(AppError | null)[]> {
  const verdicts: (AppError | null)[] = [];
  for (const item of items) {
    const [known] = await tx.select({ index: keyEvents.leaf_index }).from(keyEvents).where(isRow(item));
    verdicts.push(
      known ? new AppError("idempotency_conflict", "this key event is in the log already") : null,
    );
  }
  return verdicts;
}

async function store(tx: Executor, placed: Placed<KeyEventItem>[]): Promise<void> {
  for (const { item, logId, receipt } of placed) {
    await tx.insert(keyEvents).values({
      purpose: item.purpose,
      key_id: item.subjectKeyId,
      event: item.event,
      log_id: logId,
      leaf_index: receipt.index,
      payload: item.payload,
      signature: item.signature,
      envelope_signature: item.envelopeSignature,
      signed_by: item.keyId,
    });
  }
}

export const keyEventKind: LogItemKind<KeyEventItem> = { kind: "key_event", admit, store };

interface KeyEventFacts {
  event: KeyEventItem["event"];
  purpose: KeyPurpose;
  keyId: string;
  publicKey: Uint8Array;
  logId: number;
}

export async function signKeyEvent(context: Context, facts: KeyEventFacts): Promise<KeyEventItem> {
  const { signer } = context.keys;
  const payload = buildStatement(KEY_EVENT_PREDICATE, "public-key", hexEncode(sha256(facts.publicKey)), {
    event: facts.event,
    purpose: facts.purpose,
    key_id: facts.keyId,
    public_key: base64Encode(facts.publicKey),
    at: context.clock().toISOString(),
    signed_by: signer.keyId,
  });
  const envelope = await signEnvelope(payload, signer.publicKey, (bytes) => signer.sign(bytes));
  return {
    leaf: encodeLogLeaf(makeLogLeaf(envelope, signer.publicKey)),
    keyId: signer.keyId,
    event: facts.event,
    purpose: facts.purpose,
    subjectKeyId: facts.keyId,
    logId: facts.logId,
    payload,
    signature: signer.sign(payload),
    envelopeSignature: envelope.signature,
  };
}

/** Logs the making of every active key that the log does not know yet. Safe to call at each start. */
export async function logMadeKeys(context: Context): Promise<void> {
  const { db } = context.database;
  const rows = await db
    .select()
    .from(signingKeys)
    .where(eq(signingKeys.status, "active"))
    .orderBy(asc(signingKeys.purpose));
  for (const row of rows) {
    const facts = {
      event: "made",
      purpose: row.purpose,
      keyId: row.key_id,
      publicKey: row.public_key,
      logId: row.log_id,
    } as const;
    const item = await signKeyEvent(context, facts);
    const [known] = await db.select({ index: keyEvents.leaf_index }).from(keyEvents).where(isRow(item));
    if (known) continue;
    await context.log.submit(keyEventKind, item).catch((error: unknown) => {
      if (!(error instanceof AppError && error.errorName === "idempotency_conflict")) throw error;
    });
  }
}

/** Oldest first, as /v1/pubkey shows them. */
export async function listKeyEvents(executor: Executor) {
  const rows = await executor
    .select()
    .from(keyEvents)
    .orderBy(asc(keyEvents.log_id), asc(keyEvents.leaf_index));
  return rows.map((row) => ({
    purpose: row.purpose,
    subjectKeyId: row.key_id,
    event: row.event,
    index: row.leaf_index,
    payload: utf8Decode(row.payload),
    signature: base64Encode(row.signature),
    envelope_signature: base64Encode(row.envelope_signature),
    key_id: row.signed_by,
  }));
}
