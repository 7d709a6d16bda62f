/** For tests only: Sigstore's own verifier, offline. */
import { bundleFromJSON } from "@sigstore/bundle";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { computeDsseKeyId, encodePublicKeySpki } from "#lib/protocol/keys/ed25519";
import { computeLogId } from "#lib/protocol/statement/bundle";
import type { VerifierKey } from "#lib/protocol/tlog/checkpoint";

const keyOf = (bytes: Uint8Array) => ({
  rawBytes: Buffer.from(encodePublicKeySpki(bytes)),
  keyDetails: 7, // PKIX_ED25519
  validFor: { start: new Date(0) },
});

/** Throws unless the bundle holds. `keys`: by the `keyid` of envelopes; `root`: TrustedRoot as JSON. */
export function verifyByRoot(bundle: unknown, keys: Record<string, Uint8Array>, root: unknown): void {
  const publicKeys = Object.fromEntries(Object.entries(keys).map(([id, key]) => [id, keyOf(key)]));
  const trust = toTrustMaterial(TrustedRoot.fromJSON(root), publicKeys);
  const verifier = new Verifier(trust, { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}

/** The same with nothing of ours but the two public keys. */
export function verifyWithSigstore(bundle: unknown, publicKey: Uint8Array, logKey: VerifierKey): void {
  const logId = { keyId: Buffer.from(computeLogId(logKey)) };
  const log = {
    baseUrl: `http://${logKey.name}`,
    hashAlgorithm: 1,
    publicKey: keyOf(logKey.publicKey),
    logId,
  };
  const root = TrustedRoot.toJSON({
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [{ ...log, checkpointKeyId: logId, operator: "" }],
    certificateAuthorities: [],
    ctlogs: [],
    timestampAuthorities: [],
  });
  verifyByRoot(bundle, { [computeDsseKeyId(publicKey)]: publicKey }, root);
}
