/** One entry of an evidence pack as its file has it: an attestation as the API answers it, a decision or a change. */
import type { MemberPrincipal } from "#lib/api/http/context";
import { readCheckpoint } from "#lib/log/reading/public-log";
import { tileReader } from "#lib/log/reading/reader";
import { readLogs } from "#lib/log/signing/signing-keys";
import { base64Encode, hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, DECISION_FILE_TYPE } from "#lib/protocol/pack/pack-entries";
import { findCheckpoints } from "#lib/protocol/pack/pack-manifest";
import { parseCheckpoint, parseNote } from "#lib/protocol/tlog/checkpoint";
import { proveConsistency } from "#lib/protocol/tlog/tiles";
import type { Context } from "#lib/services/approvals/context";
import { addOpening, type OpeningChoice } from "#lib/services/approvals/openings";
import { parseRuleDecision } from "#lib/services/approvals/rows";
import { assembleHumanAuthorization } from "#lib/services/approvals/use/use-approval";
import { verifyAttestationById } from "#lib/services/attestations/verify";
import type { EntryRow } from "./rows";

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

/** Without content, the organization's own words stay out. */
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

/** Without content, what only the organization may see stays out: the request, who approved and what rules saw. */
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
    ...(isShown && describeRules(row)),
  };
}

/** `reader`: null for a pack without the content of private entries, which opens nothing either. */
export async function describePackedEntry(
  context: Context,
  row: EntryRow,
  reader: MemberPrincipal | null,
  opening: OpeningChoice,
): Promise<JsonObject> {
  if (row.change !== null) return describeChange(row, reader !== null);
  const answer =
    row.attestation_id === null
      ? describeDecision(row, reader !== null)
      : ((await verifyAttestationById(context, row.attestation_id, reader)) as unknown as JsonObject);
  return reader === null ? answer : addOpening(context, reader.organizationId, answer, opening);
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
  for (const { id, origin } of named) {
    const checkpoint = await readCheckpoint(database.db, id, settings.WITNESSES);
    add({ checkpoint });
    checkpoints.push({ origin, checkpoint });
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
