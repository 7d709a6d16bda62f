/**
 * What runs in the worker thread: the costly proofs, a fifth of a second each. Bundled to
 * dist/zk-worker.mjs; every exported function is a job that the pool can run under its name, with one
 * argument and a result that structured clone can carry.
 */
import { humanAuthorizationSchema } from "#lib/contract/human-authorization";
import type { HumanAuthorization } from "#lib/domain/approval";
import { base64UrlDecode } from "#lib/domain/bytes";
import type { JsonObject } from "#lib/domain/canonical-json";
import type { MessageName, ZkKeyPair } from "#lib/domain/disclosure";
import { disclosureMessages } from "#lib/domain/disclosure-messages";
import { verifyEd25519Strict } from "#lib/domain/ed25519";
import type { VerificationKey } from "#lib/domain/groth16";
import {
  derivePresentation as derive,
  derivePublicProof,
  signMessages,
  type ZkCredential,
  type ZkProof,
} from "#lib/domain/presentation";
import type { PresentationExpectation } from "#lib/domain/presentation-checks";
import type { PresentationHeader } from "#lib/domain/presentation-header";
import { type PresentationReport, verifyPresentation as verify } from "#lib/domain/presentation-verify";
import {
  type AuthorizationReport,
  verifyHumanAuthorization as verifyAuthorization,
} from "#lib/domain/verify-human-authorization";

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
  expected: PresentationExpectation;
}): Promise<PresentationReport> {
  return verify(input.zkProof, input);
}

/** Every link of a `human_authorization` again: binding, pairing, signature. Malformed objects are a verdict too. */
export async function verifyHumanAuthorization(input: {
  object: JsonObject;
  serviceKeys: readonly { keyId: string; publicKey: Uint8Array }[];
  v4Key?: VerificationKey;
}): Promise<AuthorizationReport | null> {
  const parsed = humanAuthorizationSchema.safeParse(input.object);
  if (!parsed.success) return null;
  return verifyAuthorization(parsed.data as HumanAuthorization, {
    serviceKeys: (keyId) => input.serviceKeys.find((key) => key.keyId === keyId)?.publicKey,
    verifySignature: verifyEd25519Strict,
    ...(input.v4Key === undefined ? {} : { v4Key: input.v4Key }),
  });
}
