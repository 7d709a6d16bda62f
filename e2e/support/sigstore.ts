/** For tests only: Sigstore's own verifier, offline. */
import { bundleFromJSON } from "@sigstore/bundle";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { computeDsseKeyId, encodePublicKeySpki } from "#lib/protocol/keys/ed25519";
import { computeLogId } from "#lib/protocol/statement/bundle";
import type { VerifierKey } from "#lib/protocol/tlog/checkpoint";

/** Throws unless the bundle holds, with nothing of ours but the two public keys. */
export function verifyWithSigstore(bundle: unknown, publicKey: Uint8Array, logKey: VerifierKey): void {
  const keyOf = (bytes: Uint8Array) => ({
    rawBytes: Buffer.from(encodePublicKeySpki(bytes)),
    keyDetails: 7, // PKIX_ED25519
    validFor: { start: new Date(0) },
  });
  const logId = { keyId: Buffer.from(computeLogId(logKey)) };
  const log = {
    baseUrl: `http://${logKey.name}`,
    hashAlgorithm: 1,
    publicKey: keyOf(logKey.publicKey),
    logId,
  };
  const root = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [{ ...log, checkpointKeyId: logId, operator: "" }],
    certificateAuthorities: [],
    ctlogs: [],
    timestampAuthorities: [],
  };
  const trust = toTrustMaterial(root, { [computeDsseKeyId(publicKey)]: keyOf(publicKey) });
  const verifier = new Verifier(trust, { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}
