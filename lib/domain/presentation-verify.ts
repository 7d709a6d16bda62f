/**
 * Verifying a presentation: straight steps in a fixed order, the cheap ones first, the pairing last but two.
 * The presentation is attacker-controlled in every field; nothing here throws on it.
 *
 * What ok means: the holder of a pinned BBS key signed one attestation that has exactly the disclosed
 * values. Not that the action happened, not who presents it (a credential is bearer).
 */
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
  type Outcome,
  type PresentationExpectation,
  type State,
} from "./presentation-checks";
import type { PresentationHeader } from "./presentation-header";

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

export interface PresentationCheck extends Outcome {
  name: CheckName;
}

export interface VerifyPresentationOptions {
  /** Raw public keys that the verifier trusts, old ones too. The key inside the proof is never believed. */
  pinnedKeys: readonly Uint8Array[];
  expected?: PresentationExpectation;
}

export interface PresentationReport {
  ok: boolean;
  checks: PresentationCheck[];
  /** Empty and null unless ok, so that nothing unproven can be shown as proven. */
  disclosed: DisclosedMessage[];
  presentationHeader: PresentationHeader | null;
}

const STEPS: Record<CheckName, (state: State) => Outcome | Promise<Outcome>> = {
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

export async function verifyPresentation(
  zkProof: unknown,
  { pinnedKeys, expected = {} }: VerifyPresentationOptions,
): Promise<PresentationReport> {
  const begun: Pick<State, "value" | "pinnedKeys" | "expected" | "disclosed"> = {
    value: zkProof,
    pinnedKeys,
    expected,
    disclosed: [],
  };
  const state = begun as State;
  const checks: PresentationCheck[] = [];
  let failed = false;
  for (const name of PRESENTATION_CHECKS) {
    const outcome: Outcome = failed
      ? { status: "not_run", detail: "an earlier check failed" }
      : await runStep(name, state);
    failed ||= outcome.status === "fail";
    checks.push({ name, ...outcome });
  }
  if (failed) return { ok: false, checks, disclosed: [], presentationHeader: null };
  const disclosed = state.disclosed.map(({ index, name, value }) => ({ index, name, value }));
  return { ok: true, checks, disclosed, presentationHeader: state.presentationHeader };
}

async function runStep(name: CheckName, state: State): Promise<Outcome> {
  try {
    return await STEPS[name](state);
  } catch {
    // The library throws on points off the curve, zero points and scalars out of range.
    return { status: "fail", detail: "malformed" };
  }
}
