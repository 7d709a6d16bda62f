/**
 * Key events (made, retired, revoked) as signed statements and leaves of the log. A key's retirement names its
 * successor and is signed by the key itself, so a reader that trusts the old key can follow to the new one.
 */

import { and, asc, eq, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { keyEvents, logs, signingKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { LogContext } from "#lib/log/context";
import type { LogItem, LogItemKind, Placed } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import type { Signer } from "#lib/log/signing/signer";
import type { KeyPurpose } from "#lib/log/signing/signing-keys";
import { base64Encode, hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import { buildStatement, KEY_EVENT_PREDICATE } from "#lib/protocol/statement/statement";

interface PublicHalf {
  keyId: string;
  publicKey: Uint8Array;
}

interface KeyEventFacts {
  event: "made" | "retired" | "revoked";
  purpose: KeyPurpose;
  subject: PublicHalf;
  /** The key that becomes active by this event. */
  successor?: PublicHalf;
  /** Revoked: the first index of the log for which the key's signatures are not valid; default: the event's own. */
  from?: { logId: number; index: number };
}

export interface KeyEventItem extends LogItem {
  facts: KeyEventFacts;
  /** ISO 8601 */
  at: string;
}

const isKey = (purpose: KeyPurpose, keyId: string) =>
  and(eq(signingKeys.purpose, purpose), eq(signingKeys.key_id, keyId));

/** By the table's key a log takes one revocation of a key. A later log may take one that goes further back. */
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
    const { item, logId, receipt, sealed } = one;
    await changeKeys(tx, one);
    await tx.insert(keyEvents).values({
      purpose: item.facts.purpose,
      key_id: item.facts.subject.keyId,
      event: item.facts.event,
      log_id: logId,
      leaf_index: receipt.index,
      payload: sealed.payload,
      signature: sealed.signature,
      envelope_signature: sealed.envelopeSignature,
      signed_by: item.keyId,
    });
  }
}

export const keyEventKind: LogItemKind<KeyEventItem> = { kind: "key_event", admit, store };

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
  return { keyId: signer.keyId, facts, at, seal: () => sealStatement(signer, payload) };
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
      // Another process that started at the same time was faster.
      if (!(error instanceof AppError && error.errorName === "idempotency_conflict")) throw error;
    });
  }
}

/** Oldest first, as /v1/pubkey shows them. */
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
