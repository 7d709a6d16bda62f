/** A zero-knowledge presentation under the trusted BBS keys. Heavy (BLS12-381 pairings): imported when needed. */
import { base64UrlDecodeOrNull, base64UrlEncode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { DISCLOSURE_HEADER, disclosureMessages, zkKeyId } from "#lib/protocol/presentation/disclosure";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import type { PresentationExpectation } from "./presentation-checks";
import {
  checkPayloadBinding,
  type PresentationCheck,
  type PresentationReport,
  summarizePublicProof,
  verifyPresentation,
} from "./presentation-verify";
import type { VerifierTrust } from "./trust";

export function checkPresentation(
  zkProof: unknown,
  { zkKeys, revokedZkKeys }: VerifierTrust,
  expected: PresentationExpectation,
): Promise<PresentationReport> {
  return verifyPresentation(zkProof, { pinnedKeys: zkKeys, revokedKeys: revokedZkKeys, expected });
}

/** A presentation by itself. `payload`: a file that it must be about, which is not vouched for. */
export async function checkLonePresentation(
  zkProof: unknown,
  trust: VerifierTrust,
  { payload, ...expected }: PresentationExpectation,
): Promise<PresentationReport> {
  const report = await checkPresentation(zkProof, trust, expected);
  if (payload === undefined) return report;
  const binding = checkPayloadBinding(report, payload);
  const checks = report.checks.map(
    (check): PresentationCheck => (check.name === "payload" ? { name: "payload", ...binding } : check),
  );
  const ok = report.ok && binding.status === "pass";
  return ok ? { ...report, checks } : { ...report, ok, checks, disclosed: [], presentationHeader: null };
}

export async function checkPublicProof(
  zkProof: unknown,
  trust: VerifierTrust,
  { attestationId, payload }: { attestationId: string; payload: Uint8Array | null },
) {
  const expected = { attestationId, audience: "public", ...(payload !== null && { payload }) };
  return summarizePublicProof(await checkPresentation(zkProof, trust, expected), payload !== null);
}

/**
 * The credential of POST's answer against its payload: all of it but the BBS signature, whose faults show when something
 * is derived from it.
 */
export function isOwnCredential(credential: JsonValue, payload: Uint8Array): boolean {
  const kid = parseActionStatement(payload)?.predicate.zk?.kid;
  if (!isJsonObject(credential) || kid === undefined) return false;
  const { public_key: key } = credential;
  const publicKey = typeof key === "string" ? base64UrlDecodeOrNull(key) : null;
  return (
    credential["kid"] === kid &&
    credential["header"] === base64UrlEncode(DISCLOSURE_HEADER) &&
    publicKey !== null &&
    zkKeyId(publicKey) === kid &&
    canonicalJson(credential["messages"] ?? null) === canonicalJson(disclosureMessages(payload))
  );
}
