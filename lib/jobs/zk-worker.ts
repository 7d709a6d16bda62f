/**
 * Entry point of the worker thread: the costly proofs, a fifth of a second each, big snapshots and suggestions. Bundled to
 * dist/zk-worker.mjs; every exported function is a job that the pool can run under its name, with one argument and a
 * result that structured clone can carry.
 */
import "#lib/platform/node-wasm";
import { setPriority } from "node:os";
import { isMainThread } from "node:worker_threads";
import { type Anchor, listPasskeyKeys } from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { base64UrlDecode, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { loadAlgorithms } from "#lib/protocol/passkey/assertion";
import {
  type PastRequest,
  type Suggestion,
  type SuggestOptions,
  suggestRules as suggest,
} from "#lib/protocol/policy/suggest";
import { disclosureMessages, type MessageName, type ZkKeyPair } from "#lib/protocol/presentation/disclosure";
import {
  derivePresentation as derive,
  derivePublicProof,
  type PresentationHeader,
  signMessages,
  type ZkCredential,
  type ZkProof,
} from "#lib/protocol/presentation/presentation";
import { mergeHeads as merge } from "#lib/protocol/record/agent-heads";
import type { BeaconBound } from "#lib/protocol/time/not-before-shape";
import {
  parseVerificationKey,
  type VerificationKey,
  type VerificationKeyJson,
} from "#lib/protocol/world-id/groth16";
import { semaphoreKeyFor, type WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { parseFieldElement, type WorldProof } from "#lib/protocol/world-id/world-id-proof";
import { checkProofV3, checkProofV4, type ProofCheck } from "#lib/verifier/checks/check-world-proof";
import type { PresentationExpectation } from "#lib/verifier/checks/presentation-checks";
import {
  type PresentationReport,
  verifyPresentation as verify,
} from "#lib/verifier/checks/presentation-verify";
import { verifyBeacon as verifyRound } from "#lib/verifier/checks/verify-beacon";
import {
  type AuthorizationReport,
  verifyHumanAuthorization as verifyAuthorization,
} from "#lib/verifier/checks/verify-human-authorization";

// Linux gives each thread a priority of its own: if processors are scarce, requests go before proofs.
if (!isMainThread && process.platform === "linux") setPriority(10);

/** Signs the messages of a payload, derives the public proof and verifies it; throws unless it verifies. */
export async function issueZkProof(input: {
  keyPair: ZkKeyPair;
  payload: Uint8Array;
}): Promise<{ zkProof: ZkProof; credential: ZkCredential }> {
  const { keyPair, payload } = input;
  const credential = await signMessages(keyPair, disclosureMessages(payload));
  const zkProof = await derivePublicProof(credential);
  const report = await verify(zkProof, {
    pinnedKeys: [keyPair.publicKey],
    expected: { audience: "public", payload },
  });
  const failed = report.checks.find(({ status }) => status === "fail");
  if (!report.ok) throw new Error(`the new proof does not verify: ${failed?.name}, ${failed?.detail}`);
  return { zkProof, credential };
}

/** Derives a presentation and verifies it; throws unless it verifies, as with a signature row that was changed. */
export async function derivePresentation(input: {
  credential: ZkCredential;
  disclose: readonly MessageName[];
  header: PresentationHeader;
}): Promise<ZkProof> {
  const presentation = await derive(input.credential, input.disclose, input.header);
  const pinnedKeys = [base64UrlDecode(input.credential.public_key)];
  const { ok } = await verify(presentation, { pinnedKeys });
  if (!ok) throw new Error("the stored BBS signature does not fit its messages");
  return presentation;
}

export function verifyPresentation(input: {
  zkProof: unknown;
  pinnedKeys: readonly Uint8Array[];
  revokedKeys?: readonly Uint8Array[];
  expected: PresentationExpectation;
}): Promise<PresentationReport> {
  return verify(input.zkProof, input);
}

let parsedV4Key: { json: string; key: VerificationKey } | undefined;

/** The key comes from the settings, so there is one; parsing it costs some pairings' worth of curve arithmetic. */
function parseV4Key(json: VerificationKeyJson): VerificationKey {
  const text = JSON.stringify(json);
  if (parsedV4Key?.json !== text) parsedV4Key = { json: text, key: parseVerificationKey(json) };
  return parsedV4Key.key;
}

/** Verifies every link of a `human_authorization`: binding, pairing, signature. Malformed objects are a verdict too. */
export async function verifyHumanAuthorization(input: {
  object: JsonObject;
  serviceKeys: readonly { keyId: string; publicKey: Uint8Array }[];
  v4KeyJson: VerificationKeyJson | undefined;
}): Promise<AuthorizationReport | null> {
  const parsed = parseHumanAuthorization(input.object);
  if (parsed === null) return null;
  await loadAlgorithms(listPasskeyKeys(parsed));
  return verifyAuthorization(parsed, {
    serviceKeys: (keyId) => input.serviceKeys.find((key) => key.keyId === keyId)?.publicKey,
    verifySignature: verifyEd25519Strict,
    ...(input.v4KeyJson === undefined ? {} : { v4Key: parseV4Key(input.v4KeyJson) }),
  });
}

/** The pairing of a proof that has just been received; null for v4 without World's key or the chain's keys. */
export async function checkWorldProof(input: {
  proof: WorldProof;
  action: string;
  signalHash: string;
  environment: WorldEnvironment;
  v4KeyJson: VerificationKeyJson | undefined;
  anchor: Anchor | undefined;
}): Promise<ProofCheck | null> {
  const { proof, action, environment, v4KeyJson, anchor } = input;
  const signalHash = parseFieldElement(input.signalHash);
  if (signalHash === undefined) throw new RangeError("the signal's hash is not a field element");
  if (proof.protocol_version === "3.0") {
    return checkProofV3(proof, action, signalHash, semaphoreKeyFor(environment));
  }
  const { issuer_public_key, oprf_public_key } = anchor ?? {};
  if (v4KeyJson === undefined || issuer_public_key === undefined || oprf_public_key === undefined)
    return null;
  const keys = { issuer_public_key, oprf_public_key };
  return checkProofV4(proof, action, signalHash, parseV4Key(v4KeyJson), keys);
}

export async function verifyBeacon(bound: BeaconBound): Promise<boolean> {
  return verifyRound(bound);
}

/** The rows of a snapshot of agents' records; some seconds for a million agents. */
export function mergeHeads(input: { before: Uint8Array; given: Uint8Array }): ReturnType<typeof merge> {
  return merge(input.before, input.given);
}

/** `pages`: JSON arrays of {@link PastRequest}. */
export function suggestRules(input: { pages: Uint8Array[]; options: SuggestOptions }): Suggestion[] {
  const read = (page: Uint8Array) => JSON.parse(utf8Decode(page)) as PastRequest[];
  return suggest(input.pages.flatMap(read), input.options);
}
