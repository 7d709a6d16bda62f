/** From a record that does not hold to what of it can be proven to others. */

import { base64Decode, bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { decodeHeadRow } from "#lib/protocol/record/agent-heads";
import { emptyRecord, extendRecord, isRecordPlace, type RecordHead } from "#lib/protocol/record/agent-record";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import type { RecordSource } from "./check-record";
import { checkMisbehaviour, MISBEHAVIOUR_TYPE } from "./misbehaviour";
import { parseReceipt } from "./parse-receipt";
import { readObject, UnreadableError } from "./read-json";
import { type RecordEntry, type RecordPage, readRecordPages } from "./record-pages";
import type { VerifierTrust } from "./trust";

const names = ["payload", "signature", "envelope_signature", "key_id", "log"] as const;

/** Extracts the part of an answer that others need: the payload as its owner has it, signed and in the log. */
const toEvidence = (answer: JsonObject): JsonObject =>
  Object.fromEntries(names.map((name) => [name, answer[name] ?? null]));

interface Listed {
  agentId: string;
  entries: RecordEntry[];
  /** The newest answer's snapshot, as it came. */
  snapshot: JsonObject | null;
}

async function readAll(source: RecordSource): Promise<Listed> {
  const entries: RecordEntry[] = [];
  let first: RecordPage | null = null;
  for await (const page of readRecordPages(source.readPage)) {
    if ("problem" in page) throw new UnreadableError(page.problem);
    first ??= page;
    entries.push(...page.entries);
  }
  if (first === null) throw new UnreadableError("there is no record");
  const { agentId, snapshot } = first;
  return { agentId, entries, snapshot: isJsonObject(snapshot) ? snapshot : null };
}

function headBefore(agentId: string, entries: readonly RecordEntry[], sequence: number): RecordHead {
  let head = emptyRecord(agentId);
  for (const entry of entries.slice(0, sequence - 1)) head = extendRecord(head, entry.payloadHash);
  return head;
}

/** The last number that the snapshot counts; what is no row counts nothing. */
function countedBy({ row }: JsonObject): number {
  try {
    return decodeHeadRow(base64Decode(String(row))).sequence;
  } catch {
    return 0;
  }
}

/** Every way in which the service may have signed another record than the receipt's; whichever holds is the proof. */
async function* candidates(
  receipt: JsonObject,
  { agentId, entries, snapshot }: Listed,
  source: RecordSource,
): AsyncGenerator<JsonObject> {
  const { payload, payloadHash } = parseReceipt(receipt);
  const place = typeof payload === "string" ? undefined : parseActionStatement(payload)?.predicate.record;
  if (!isRecordPlace(place)) return;
  const { sequence } = place;
  const listed = entries[sequence - 1];
  const readAnswer = async ({ attestationId }: RecordEntry) =>
    toEvidence(readObject(await source.readAnswer(String(attestationId))));
  if (listed?.attestationId && !bytesEqual(listed.payloadHash, payloadHash))
    yield { kind: "same_number", one: toEvidence(receipt), other: await readAnswer(listed) };
  const rest = entries.slice(sequence - 1);
  const chained = (count: number, commitment: JsonObject): JsonObject => ({
    kind: "not_in_record",
    receipt: toEvidence(receipt),
    link_before: hexEncode(headBefore(agentId, entries, sequence).link),
    payload_hashes: rest.slice(0, count).map((entry) => hexEncode(entry.payloadHash)),
    commitment,
  });
  if (snapshot !== null) yield chained(Math.max(0, countedBy(snapshot) - sequence + 1), { snapshot });
  const newest = entries.findLast(({ attestationId }) => attestationId !== null);
  if (newest !== undefined && newest.sequence > sequence)
    yield chained(newest.sequence - sequence, { attestation: await readAnswer(newest) });
}

/** A proof that others can check, if one of the receipts is proof of something; null if none is. */
export async function proveByReceipts(
  source: RecordSource,
  receipts: readonly string[],
  trust: VerifierTrust,
): Promise<JsonObject | null> {
  const held = receipts.map(readObject);
  const prove = (candidate: JsonObject): JsonObject | null => {
    const file = { type: MISBEHAVIOUR_TYPE, ...candidate };
    return checkMisbehaviour(file, trust).status === "pass" ? file : null;
  };
  for (const [i, one] of held.entries())
    for (const other of held.slice(0, i)) {
      const file = prove({ kind: "same_number", one: toEvidence(one), other: toEvidence(other) });
      if (file !== null) return file;
    }
  const listed = await readAll(source);
  for (const receipt of held)
    for await (const candidate of candidates(receipt, listed, source)) {
      const file = prove(candidate);
      if (file !== null) return file;
    }
  return null;
}
