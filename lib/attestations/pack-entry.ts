/** One entry of an evidence pack as its file has it: an attestation as the API answers it, or a decision. */
import type { Context } from "#lib/approvals/context";
import { assembleHumanAuthorization } from "#lib/approvals/embed";
import { base64Encode, hexEncode, utf8Decode } from "#lib/core/encoding/bytes";
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { DECISION_FILE_TYPE } from "#lib/core/pack/pack-entries";
import type { MemberPrincipal } from "#lib/http/principal";
import type { EntryRow } from "./pack-range";
import { verifyAttestationById } from "./verify";

const base64OrNull = (bytes: Uint8Array | null) => bytes && base64Encode(bytes);
const parse = (text: string) => JSON.parse(text) as JsonObject;

/** Without content, what only the organization may see stays out: the request and who approved. */
function describeDecision(row: EntryRow, withContent: boolean): JsonObject {
  const { sequence, payload_hash, request_id, request, decision_payload: payload, decision_log: log } = row;
  const isShown = withContent && payload !== null;
  return {
    type: DECISION_FILE_TYPE,
    sequence,
    request_id,
    payload_hash: hexEncode(payload_hash),
    payload: payload && utf8Decode(payload),
    signature: base64OrNull(row.decision_signature),
    envelope_signature: base64OrNull(row.decision_envelope_signature),
    key_id: row.decision_key_id,
    log: log === null ? null : parse(log),
    request: isShown && request !== null ? parse(utf8Decode(request)) : null,
    human_authorization:
      isShown && row.human_authorization !== null
        ? assembleHumanAuthorization(row.human_authorization, log)
        : null,
  };
}

/** `reader`: null for a pack without the content of private entries. */
export async function describePackedEntry(
  context: Context,
  row: EntryRow,
  reader: MemberPrincipal | null,
): Promise<unknown> {
  if (row.attestation_id === null) return describeDecision(row, reader !== null);
  return verifyAttestationById(context, row.attestation_id, reader, null);
}
