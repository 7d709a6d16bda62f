/** Entries of an evidence pack, each as its file has it: an attestation as the API answers it, a decision or a change. */
import type { MemberPrincipal } from "#lib/api/http/context";
import type { Database } from "#lib/db/client";
import type { Share } from "#lib/jobs/fair-queue";
import { tileReader } from "#lib/log/reading/reader";
import { readLogs } from "#lib/log/signing/signing-keys";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { base64Encode, hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, DECISION_FILE_TYPE } from "#lib/protocol/pack/pack-entries";
import { findCheckpoints, type PackPeriod } from "#lib/protocol/pack/pack-manifest";
import type { AgentChangeKind } from "#lib/protocol/record/agent-heads";
import type { ActionStatement } from "#lib/protocol/statement/statement";
import { parseCheckpoint, parseNote } from "#lib/protocol/tlog/checkpoint";
import { proveConsistency } from "#lib/protocol/tlog/tiles";
import type { Context } from "#lib/services/approvals/context";
import { addOpening, type OpeningChoice } from "#lib/services/approvals/read";
import { parseRuleDecision } from "#lib/services/approvals/rows";
import { assembleHumanAuthorization } from "#lib/services/approvals/use/use-approval";
import { readWithTime, type StoredAttestation, verifyAhead } from "#lib/services/attestations/stored-receipt";
import { verifyRead } from "#lib/services/attestations/verify";

/* The entries that a record has in a period: numbers without a gap, and the entries just outside that show it. */

export interface PackRange {
  /** Numbers; null if the record begins, or ends, with the period. */
  before: number | null;
  after: number | null;
  /** Range of numbers; empty if `last` is before `first`. */
  first: number;
  last: number;
}

const joined = `FROM log_leaves leaf
  LEFT JOIN attestations a ON a.log_id = leaf.log_id AND a.leaf_index = leaf.leaf_index
  LEFT JOIN authorization_requests r ON leaf.kind = 'decision' AND r.organization_id = $2
    AND r.log_id = leaf.log_id AND r.leaf_index = leaf.leaf_index
  LEFT JOIN agent_changes c ON leaf.kind = 'agent_change' AND c.organization_id = $2
    AND c.log_id = leaf.log_id AND c.leaf_index = leaf.leaf_index`;

/**
 * $1: agent. $2: its organization. $3: the last number to look at. $4, $5: the period. What was erased has no signed time,
 * so it belongs to the period if it lies beside it: else nothing would show that it does not.
 */
const rangeText = `WITH entry AS MATERIALIZED (
    SELECT leaf.sequence, coalesce(a.created_at, r.decided_at, c.changed_at) AS at,
      num_nonnulls(a.payload, r.decision_payload, c.payload) > 0 AS is_timed
    ${joined} WHERE leaf.agent_id = $1 AND leaf.sequence <= $3
  ), inside AS (
    SELECT coalesce(min(sequence) FILTER (WHERE at >= $4), $3 + 1) AS first,
      coalesce(max(sequence) FILTER (WHERE at < $5), 0) AS last FROM entry
  )
  SELECT (SELECT max(sequence) FROM entry WHERE is_timed AND sequence < inside.first) AS before,
    (SELECT min(sequence) FROM entry WHERE is_timed AND sequence > greatest(inside.last, inside.first - 1)) AS after
  FROM inside`;

export interface PackOwner {
  agentId: string;
  organizationId: string;
}

export async function findPackRange(
  database: Database,
  { agentId, organizationId }: PackOwner,
  head: number,
  { from, to }: PackPeriod,
): Promise<PackRange> {
  const find = database.statement<{ before: number | null; after: number | null }>(rangeText);
  const [row] = await find(agentId, organizationId, head, from, to);
  const { before = null, after = null } = row ?? {};
  return { before, after, first: (before ?? 0) + 1, last: after === null ? head : after - 1 };
}

/** An attestation if it has the id of one, a change if it has one, else a decision. */
export interface EntryRow {
  sequence: number;
  payload_hash: Uint8Array;
  attestation_id: string | null;
  change: AgentChangeKind | null;
  reason: string | null;
  reason_salt: string | null;
  request_id: string | null;
  request: Uint8Array | null;
  decision_payload: Uint8Array | null;
  decision_signature: Uint8Array | null;
  decision_envelope_signature: Uint8Array | null;
  decision_key_id: string | null;
  decision_log: string | null;
  human_authorization: Uint8Array | null;
  decided_by: string | null;
  rule_context: string | null;
  rule_outcome: string | null;
  derivation: string | null;
  /** Number of the decision, in the period or first after it, about the request that an approver made of this one. */
  changed_into: number | null;
}

const rowsText = `SELECT leaf.sequence, leaf.payload_hash, a.id AS attestation_id, c.change, c.reason, c.reason_salt,
    coalesce(r.id, c.request_id) AS request_id, r.request, coalesce(r.decision_payload, c.payload) AS decision_payload,
    coalesce(r.decision_signature, c.signature) AS decision_signature,
    coalesce(r.decision_envelope_signature, c.envelope_signature) AS decision_envelope_signature,
    coalesce(r.decision_key_id, c.signed_by) AS decision_key_id, coalesce(r.decision_log, c.log) AS decision_log,
    r.human_authorization, r.decided_by, r.rule_context, r.rule_outcome, r.derivation,
    (SELECT other.sequence FROM authorization_requests n
      JOIN log_leaves other ON other.log_id = n.log_id AND other.leaf_index = n.leaf_index
      WHERE n.id = r.amended_by AND n.decision_payload IS NOT NULL AND other.agent_id = $1
        AND other.sequence BETWEEN leaf.sequence + 1 AND $5) AS changed_into
  ${joined} WHERE leaf.agent_id = $1 AND leaf.sequence BETWEEN $3 AND $4 ORDER BY leaf.sequence`;

const batchSize = 256;

/** The number that one statement asks for. */
const entriesAtOnce = 32;

/** Yields lists of at most {@link entriesAtOnce}. */
export async function* readEntryRows(
  database: Database,
  { agentId, organizationId }: PackOwner,
  first: number,
  last: number,
  lastOfPack = last,
): AsyncGenerator<EntryRow[]> {
  for (let from = first; from <= last; from += batchSize) {
    const to = Math.min(last, from + batchSize - 1);
    const rows = await database.statement<EntryRow>(rowsText)(agentId, organizationId, from, to, lastOfPack);
    for (let i = 0; i < rows.length; i += entriesAtOnce) yield rows.slice(i, i + entriesAtOnce);
  }
}

/** $1: agent. $2: the last number to look at. */
const newestText = `SELECT leaf.sequence FROM log_leaves leaf
  JOIN attestations a ON a.log_id = leaf.log_id AND a.leaf_index = leaf.leaf_index
  WHERE leaf.agent_id = $1 AND leaf.sequence <= $2 AND a.is_public AND a.payload IS NOT NULL
  ORDER BY leaf.sequence DESC LIMIT 1`;

/** The number of the newest public attestation, whose signature covers every link before it. */
export async function findNewestPublic(database: Database, agentId: string, head: number) {
  const [row] = await database.statement<{ sequence: number }>(newestText)(agentId, head);
  return row?.sequence ?? null;
}

/* Their files. */

const base64OrNull = (bytes: Uint8Array | null) => bytes && base64Encode(bytes);
const parse = (text: string) => JSON.parse(text) as JsonObject;

const describeLogged = (row: EntryRow): JsonObject => ({
  sequence: row.sequence,
  request_id: row.request_id,
  payload_hash: hexEncode(row.payload_hash),
  payload: row.decision_payload && utf8Decode(row.decision_payload),
  signature: base64OrNull(row.decision_signature),
  envelope_signature: base64OrNull(row.decision_envelope_signature),
  key_id: row.decision_key_id,
  log: row.decision_log === null ? null : parse(row.decision_log),
});

/** Leaves out, without content, the organization's own words. */
const describeChange = (row: EntryRow, withContent: boolean): JsonObject => ({
  type: CHANGE_FILE_TYPE,
  ...describeLogged(row),
  reason: withContent ? row.reason : null,
  reason_salt: withContent ? row.reason_salt : null,
});

/** Data for evaluating the rules again; empty without rules. */
function describeRules(row: EntryRow): JsonObject {
  const rules = parseRuleDecision(row);
  if (rules === null) return {};
  return {
    decided_by: row.decided_by === null ? null : parse(row.decided_by),
    rules: rules as unknown as JsonObject,
  };
}

/** Leaves out, without content, what only the organization may see: the request, who approved and what rules saw. */
function describeDecision(row: EntryRow, withContent: boolean): JsonObject {
  const { request, decision_payload: payload, decision_log: log } = row;
  const isShown = withContent && payload !== null;
  return {
    type: DECISION_FILE_TYPE,
    ...describeLogged(row),
    request: isShown && request !== null ? parse(utf8Decode(request)) : null,
    human_authorization:
      isShown && row.human_authorization !== null
        ? assembleHumanAuthorization(row.human_authorization, log)
        : null,
    ...(isShown && row.changed_into !== null && { changed_into: row.changed_into }),
    ...(isShown && describeRules(row)),
    ...(isShown &&
      row.human_authorization !== null &&
      row.derivation !== null && { derivation: parse(row.derivation) }),
  };
}

/** `reader`: null for a pack without the content of private entries, which opens nothing either. */
export async function readPackedEntries<Read>(
  context: Context,
  rows: readonly EntryRow[],
  reader: MemberPrincipal | null,
  opening: OpeningChoice,
  share: Share,
  read: (row: EntryRow, json: JsonObject, statement: ActionStatement | undefined) => Read,
): Promise<Read[]> {
  const stored = await Promise.all(
    rows.map(({ attestation_id: id }) => (id === null ? null : readWithTime(context, id))),
  );
  await verifyAhead(
    context,
    stored.filter((one) => one !== null),
    share,
  );
  const describe = async (row: EntryRow, receipt: StoredAttestation | null) => {
    if (row.change !== null) return describeChange(row, reader !== null);
    const answer =
      receipt === null
        ? describeDecision(row, reader !== null)
        : ((await verifyRead(context, receipt, reader)) as unknown as JsonObject);
    return reader === null ? answer : addOpening(context, reader.organizationId, answer, opening);
  };
  return Promise.all(
    rows.map(async (row, i) => {
      const receipt = stored[i] ?? null;
      return read(row, await describe(row, receipt), receipt?.statement ?? undefined);
    }),
  );
}

/* The log in an evidence pack: the newest checkpoint of each log that is named, and the proofs that it only grew. */

/** Null for what a changed row may hold instead: checking the pack finds it. */
function readPlace(note: string) {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch {
    return null;
  }
}

/** Origin → sizes at which it was shown. */
export function createSizeList() {
  const sizes = new Map<string, Set<number>>();
  let last = "";
  return {
    sizes,
    add(json: unknown): void {
      for (const note of findCheckpoints(json as JsonValue)) {
        if (note === last) continue;
        last = note;
        const place = readPlace(note);
        if (place === null) continue;
        const { origin, size } = place;
        sizes.set(origin, (sizes.get(origin) ?? new Set()).add(size));
      }
    },
  };
}

export async function describeGrowth(
  { database, settings }: Context,
  { sizes, add }: ReturnType<typeof createSizeList>,
) {
  const named = (await readLogs(database.db)).filter(({ origin }) => sizes.has(origin));
  const checkpoints = [];
  for (const log of named) {
    const { note: checkpoint } = await readShownCheckpoint(database.db, log, settings.WITNESSES);
    add({ checkpoint });
    checkpoints.push({ origin: log.origin, checkpoint });
  }
  const consistency = [];
  for (const { id, origin } of named) {
    const sorted = [...(sizes.get(origin) ?? [])].sort((a, b) => a - b);
    for (const [i, to] of sorted.slice(1).entries()) {
      const from = sorted[i] ?? 0;
      const proof = await proveConsistency(from, to, tileReader(database.db, id));
      consistency.push({ origin, from, to, proof: proof.map(base64Encode) });
    }
  }
  return { checkpoints, consistency };
}
