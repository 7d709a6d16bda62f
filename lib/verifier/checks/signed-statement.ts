/** A statement of the service about its log (lib/protocol/statement/statement.ts), under the keys that the reader trusts. */
import { bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { computeDsseKeyId } from "#lib/protocol/keys/ed25519-key";
import { verifyEnvelope } from "#lib/protocol/statement/dsse";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import { STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { checkLogEntry } from "./check-log-entry";
import { readLogReceipt } from "./parse-receipt";
import { decodeBase64, requireObject, requireText } from "./read-json";
import type { VerifierTrust } from "./trust";

export interface SignedStatement {
  payload: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  keyId: string;
}

export function readSignedStatement(json: JsonObject): SignedStatement {
  return {
    payload: utf8Encode(requireText(json, "payload")),
    signature: decodeBase64(requireText(json, "signature"), "signature", 64),
    envelopeSignature: decodeBase64(requireText(json, "envelope_signature"), "envelope_signature", 64),
    keyId: requireText(json, "key_id"),
  };
}

const envelopeOf = (
  { payload, envelopeSignature }: SignedStatement,
  { publicKey }: Pick<TrustedKey, "publicKey">,
) => ({
  payloadType: STATEMENT_MEDIA_TYPE,
  payload,
  keyId: computeDsseKeyId(publicKey),
  signature: envelopeSignature,
});

const hasSigned = ({ publicKey }: TrustedKey, statement: SignedStatement): boolean =>
  verifyEd25519Strict(statement.signature, statement.payload, publicKey) &&
  verifyEnvelope(envelopeOf(statement, { publicKey }), publicKey);

/** The trusted key that signs for this place of the log and has signed both forms; undefined if there is none. */
export function findSigner(
  statement: SignedStatement,
  logOrigin: string,
  logIndex: number,
  trust: Pick<VerifierTrust, "keys">,
): TrustedKey | undefined {
  const key = trust.keys.find(
    ({ keyId, logOrigin: origin = logOrigin, validFromIndex: from, validToIndex: to }) =>
      keyId === statement.keyId && origin === logOrigin && logIndex >= from && (to === null || logIndex < to),
  );
  return key !== undefined && hasSigned(key, statement) ? key : undefined;
}

/**
 * The key of the service that has signed both forms, even if it was revoked since: enough to count a statement as the
 * service's own, not to believe what it says.
 */
export function findMaker(
  statement: SignedStatement,
  trust: Pick<VerifierTrust, "keys">,
): TrustedKey | undefined {
  return trust.keys.find((key) => key.keyId === statement.keyId && hasSigned(key, statement));
}

/** The bytes of its leaf in the log. */
export const leafOf = (statement: SignedStatement, key: TrustedKey): Uint8Array =>
  encodeLogLeaf(makeLogLeaf(envelopeOf(statement, key), key.publicKey));

export interface LoggedStatement extends SignedStatement {
  log: ReturnType<typeof readLogReceipt>;
  logOrigin: string;
}

export function readLoggedStatement(json: JsonObject): LoggedStatement {
  const log = requireObject(json, "log");
  return { ...readSignedStatement(json), log: readLogReceipt(log), logOrigin: requireText(log, "origin") };
}

/** Signed by a trusted key, and its leaf under a trusted checkpoint of the log that it names. */
export function isLogged(statement: LoggedStatement, trust: VerifierTrust): boolean {
  const { log, logOrigin } = statement;
  const key = findSigner(statement, logOrigin, log.index, trust);
  const { checks, checkpoint } = checkLogEntry(log, trust);
  return (
    key !== undefined &&
    bytesEqual(leafOf(statement, key), log.entry) &&
    checks.every(({ status }) => status === "pass") &&
    checkpoint?.origin === logOrigin &&
    checkpoint.size === log.treeSize
  );
}
