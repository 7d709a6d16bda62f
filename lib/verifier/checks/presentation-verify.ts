/**
 * Verifying a presentation: straight steps in a fixed order, the cheap ones first, the pairing last but two.
 * The presentation is attacker-controlled in every field; nothing here throws on it.
 *
 * What ok means: the holder of a pinned BBS key signed one attestation that has exactly the disclosed
 * values. Not that the action happened, not who presents it (a credential is bearer).
 */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { PresentationHeader } from "#lib/protocol/presentation/presentation";
import { fail, firstFailure, pass, skip } from "#lib/protocol/statement/outcome";
import { explain } from "#lib/protocol/statement/reasons";
import type { ZkReport } from "#lib/protocol/statement/receipt";
import {
  checkAttestationId,
  checkAudience,
  checkHeaders,
  checkIndexes,
  checkLength,
  checkMessages,
  checkNonce,
  checkPayload,
  checkPinnedKey,
  checkProof,
  checkShape,
  checkSuite,
  checkValidityPeriod,
  type DisclosedMessage,
  type PresentationExpectation,
  type PresentationOutcome,
  type State,
} from "./presentation-checks";

export const PRESENTATION_CHECKS = [
  "shape",
  "suite",
  "pinned_key",
  "header",
  "length",
  "indexes",
  "messages",
  "audience",
  "nonce",
  "validity_period",
  "proof",
  "attestation_id",
  "payload",
] as const;

type CheckName = (typeof PRESENTATION_CHECKS)[number];

export type PresentationCheck = PresentationOutcome & { name: CheckName };

export interface VerifyPresentationOptions {
  /** Raw public keys that the verifier trusts, old ones too. The key inside the proof is never believed. */
  pinnedKeys: readonly Uint8Array[];
  /** Trusted once. They vouch for a proof whose payload is shown, and for nothing else. */
  revokedKeys?: readonly Uint8Array[];
  expected?: PresentationExpectation;
}

export interface PresentationReport {
  ok: boolean;
  /** The one named by `revokedKeys`: not ok without the payload, whatever the proof holds. */
  isKeyRevoked: boolean;
  checks: PresentationCheck[];
  /** Empty and null unless ok, so that nothing unproven can be shown as proven. */
  disclosed: DisclosedMessage[];
  presentationHeader: PresentationHeader | null;
}

const STEPS: Record<CheckName, (state: State) => PresentationOutcome | Promise<PresentationOutcome>> = {
  shape: checkShape,
  suite: checkSuite,
  pinned_key: checkPinnedKey,
  header: checkHeaders,
  length: checkLength,
  indexes: checkIndexes,
  messages: checkMessages,
  audience: checkAudience,
  nonce: checkNonce,
  validity_period: checkValidityPeriod,
  proof: checkProof,
  attestation_id: checkAttestationId,
  payload: checkPayload,
};

const notRun: PresentationOutcome = {
  status: "not_run",
  reason: "earlier_check_failed",
  detail: explain("earlier_check_failed"),
};

export async function verifyPresentation(
  zkProof: unknown,
  { pinnedKeys, revokedKeys = [], expected = {} }: VerifyPresentationOptions,
): Promise<PresentationReport> {
  const begun: Pick<State, "value" | "pinnedKeys" | "revokedKeys" | "expected" | "disclosed"> = {
    value: zkProof,
    pinnedKeys,
    revokedKeys,
    expected,
    disclosed: [],
  };
  const state = begun as State;
  const checks: PresentationCheck[] = [];
  let failed = false;
  for (const name of PRESENTATION_CHECKS) {
    const outcome: PresentationOutcome = failed ? notRun : await runStep(name, state);
    failed ||= outcome.status === "fail";
    checks.push({ name, ...outcome });
  }
  const isKeyRevoked = state.isKeyRevoked ?? false;
  if (failed) return { ok: false, isKeyRevoked, checks, disclosed: [], presentationHeader: null };
  const disclosed = state.disclosed.map(({ index, name, value }) => ({ index, name, value }));
  return { ok: true, isKeyRevoked, checks, disclosed, presentationHeader: state.presentationHeader };
}

/**
 * Binds a presentation to a payload that nothing else vouches for. Only a disclosed `payload_hash` does that: every
 * other value could also be another payload's.
 */
export function checkPayloadBinding(
  { ok, disclosed }: PresentationReport,
  payload: Uint8Array,
): PresentationOutcome {
  if (!ok) return notRun;
  const hash = disclosed.find(({ name }) => name === "payload_hash")?.value;
  if (hash === undefined) return fail("payload_hash_not_disclosed");
  return hash === hexEncode(sha256(payload))
    ? pass("its payload_hash is the hash of this payload")
    : fail("payload_mismatch");
}

/**
 * Summarizes a public proof's report on its attestation in one line. Without the payload (`isPayloadShown`) the proof
 * of a revoked key proves nothing any more, whatever the service knows.
 */
export function summarizePublicProof(report: PresentationReport, isPayloadShown: boolean): ZkReport {
  const { isKeyRevoked } = report;
  if (isKeyRevoked && !isPayloadShown) return { outcome: skip("zk_key_revoked"), isKeyRevoked };
  const signed = pass("the service's BBS key signed these disclosed values");
  return { outcome: firstFailure(report.checks) ?? signed, isKeyRevoked };
}

async function runStep(name: CheckName, state: State): Promise<PresentationOutcome> {
  try {
    return await STEPS[name](state);
  } catch {
    // The library throws on points off the curve, zero points and scalars out of range.
    return fail("malformed_proof");
  }
}
