/** The service's own statements in its logs, oldest first, with their exact bytes: all that is in no agent's record. */
import type { LoggedStatement, StatementsQuery, StatementsResponse } from "#lib/api/schemas/log";
import type { Database } from "#lib/db/client";
import { kindsOfRecords } from "#lib/log/sequencer/append";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";

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
