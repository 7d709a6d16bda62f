/** GET /v1/verify/:id/anchors: hashes and other people's signatures, so private attestations have it for everyone too. */

import type { AnchorsResponse } from "#lib/api/schemas/time";
import { base64Encode, hexEncode } from "#lib/protocol/encoding/bytes";
import type { Context } from "#lib/services/approvals/context";
import { describeAnchor, proveEntry, proveTime } from "./entry-proofs";
import { readWithTime } from "./stored-receipt";

export async function readAnchors(context: Context, id: string): Promise<AnchorsResponse> {
  const stored = await readWithTime(context, id);
  const { origin, index, entry } = await proveEntry(context, stored);
  const { anchors } = await proveTime(context.database, stored);
  return {
    attestation_id: stored.id,
    payload_hash: hexEncode(stored.payload_hash),
    log: { origin, index, entry: base64Encode(entry) },
    anchors: anchors.map(describeAnchor),
  };
}
