/** The log's own history, judged at start and by `npm run log -- check`. */

import type { LoggedStatement, StatementsQuery, StatementsResponse } from "#lib/api/schemas/record";
import type { Database, Executor } from "#lib/db/client";
import { kindsOfRecords, loadEdge } from "#lib/log/sequencer/append";
import { type KnownHeads, requirePrefix } from "#lib/log/sequencer/fork-guard";
import type { HeadLock } from "#lib/log/sequencer/head-lock";
import { readLogs } from "#lib/log/signing/signing-keys";
import { base64Encode, hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { checkLog, type LogCheck } from "#lib/verifier/checks/check-log";
import { type OldEntries, readEntries, readOpenHead, tileReader } from "./reader";

/** Throws if the database's log is not the one that this machine, or any that shares the lock, has signed, or its tiles do not hold it. */
export async function requireOwnHistory(
  executor: Executor,
  guard: KnownHeads,
  lock: Pick<HeadLock, "require"> | null,
): Promise<void> {
  const head = await readOpenHead(executor);
  const signed = { logId: head.id, size: head.size, rootHex: hexEncode(head.root) };
  guard.check(signed);
  await lock?.require(signed);
  await requirePrefix(guard, signed, tileReader(executor, head.id));
  await loadEdge(executor, head);
}

/** The head is no outsider's business, so a fault here has no reason code. */
type StoredVerdict = LogCheck | { ok: false; problem: string };

export interface StoredLogCheck {
  logId: number;
  origin: string;
  size: number;
  check: StoredVerdict;
}

/** Recomputes everything from the entries alone: leaf hashes, tiles, root, and the newest checkpoint's signature. */
export async function checkStoredLogs(
  executor: Executor,
  old: OldEntries | null,
  onProgress: (origin: string, checkedLeaves: number, size: number) => void = () => {},
): Promise<StoredLogCheck[]> {
  const results: StoredLogCheck[] = [];
  for (const { id, origin, size, root, checkpoint, key } of await readLogs(executor)) {
    const signed = verifyCheckpoint(checkpoint, key);
    const isOfHead =
      signed.ok && signed.checkpoint.size === size && hexEncode(signed.checkpoint.root) === hexEncode(root);
    const check: StoredVerdict = isOfHead
      ? await checkLog(
          size,
          tileReader(executor, id),
          (bundle, width) => readEntries(executor, old, id, bundle * 256, width),
          { root, onProgress: (checked) => onProgress(origin, checked, size) },
        )
      : { ok: false, problem: signed.ok ? "the checkpoint is not that of the head" : signed.problem };
    results.push({ logId: id, origin, size, check });
  }
  return results;
}

/* The service's own statements in its logs, oldest first, with their exact bytes: all that is in no agent's record. */

interface Row extends Pick<LoggedStatement, "kind" | "log_origin" | "log_index" | "key_id"> {
  payload: Uint8Array;
  signature: Uint8Array;
  envelope_signature: Uint8Array;
}

/** $1: how many come before. $2: how many to read. */
const pageText = `SELECT leaf.kind, logs.origin AS log_origin, leaf.leaf_index AS log_index,
    e.payload, e.signature, e.envelope_signature, e.signed_by AS key_id
  FROM (SELECT log_id, leaf_index, kind FROM log_leaves WHERE kind NOT IN ${kindsOfRecords}
    ORDER BY log_id, leaf_index OFFSET $1 LIMIT $2) AS leaf
  JOIN logs ON logs.id = leaf.log_id
  CROSS JOIN LATERAL (
    SELECT payload, signature, envelope_signature, signed_by FROM key_events
      WHERE leaf.kind = 'key_event' AND log_id = leaf.log_id AND leaf_index = leaf.leaf_index
    UNION ALL
    SELECT payload, signature, envelope_signature, signed_by FROM agent_heads
      WHERE leaf.kind = 'agent_heads' AND log_id = leaf.log_id AND leaf_index = leaf.leaf_index
    UNION ALL
    SELECT payload, signature, envelope_signature, signed_by FROM rule_sets
      WHERE leaf.kind = 'ruleset' AND log_id = leaf.log_id AND leaf_index = leaf.leaf_index
    UNION ALL
    SELECT payload, signature, envelope_signature, signed_by FROM rosters
      WHERE leaf.kind = 'approver_roster' AND log_id = leaf.log_id AND leaf_index = leaf.leaf_index
    UNION ALL
    SELECT payload, signature, envelope_signature, signed_by FROM planted_statements
      WHERE leaf.kind = 'planted_requests' AND log_id = leaf.log_id AND leaf_index = leaf.leaf_index
    UNION ALL
    SELECT logs.epoch_payload, logs.epoch_signature, logs.epoch_envelope_signature, logs.epoch_key_id
      WHERE leaf.kind = 'epoch'
  ) AS e
  ORDER BY leaf.log_id, leaf.leaf_index`;

export async function readStatements(
  database: Database,
  { from, limit }: StatementsQuery,
): Promise<StatementsResponse> {
  const rows = await database.statement<Row>(pageText)(from - 1, limit + 1);
  const statements = rows.slice(0, limit).map(
    ({ payload, signature, envelope_signature, ...row }, i): LoggedStatement => ({
      number: from + i,
      ...row,
      payload: utf8Decode(payload),
      signature: base64Encode(signature),
      envelope_signature: base64Encode(envelope_signature),
    }),
  );
  return { statements, next: rows.length > limit ? from + limit : null };
}
