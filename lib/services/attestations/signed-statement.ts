/** For lists and examples, which run no checklist: what a stored row says, or nothing if it isn't signed. */

import type { attestations } from "#lib/db/schema";
import type { PublishedKey } from "#lib/log/signing/signing-keys";
import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";
import { type ActionStatement, parseActionStatement } from "#lib/protocol/statement/statement";
import { verifyAndRemember } from "./signature-verdicts";

type SignedRow = Pick<
  typeof attestations.$inferSelect,
  "id" | "payload" | "payload_hash" | "signature" | "key_id" | "is_public"
>;

/** Null if the payload is gone, altered, another row's, or not signed by the key that the row names. */
export function readSignedStatement(
  row: SignedRow,
  keys: readonly Pick<PublishedKey, "keyId" | "publicKey">[],
): ActionStatement | null {
  const { payload } = row;
  const key = keys.find(({ keyId }) => keyId === row.key_id);
  if (payload === null || key === undefined) return null;
  if (!bytesEqual(sha256(payload), row.payload_hash)) return null;
  if (!verifyAndRemember(row.signature, payload, key.publicKey)) return null;
  const statement = parseActionStatement(payload, true);
  const isOwn =
    statement?.predicate.attestation_id === row.id && statement.predicate.is_public === row.is_public;
  return isOwn ? statement : null;
}
