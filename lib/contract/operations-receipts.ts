/** Receipts as files, one's own attestations, erasure, and the offline verifier (api.md sections 4 and 12). */
import { anyone, type OperationSpec, ownerSeesMore, withKey } from "./operation";
import { eraseResponse, listAttestationsQuery, ownAttestationsResponse } from "./receipts";

const download = <Path extends string>(path: Path, summary: string) =>
  ({
    method: "GET",
    path,
    summary,
    tag: "Attestations",
    auth: ownerSeesMore,
    limit: "verify",
    responses: { 200: null },
    errors: [404, 409],
  }) as const satisfies OperationSpec;

const verifierFile = <Path extends string>(path: Path, summary: string) =>
  ({
    method: "GET",
    path,
    summary,
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: null },
    errors: [404],
  }) as const satisfies OperationSpec;

export const receiptsOperations = {
  downloadBundle: download("/v1/verify/{id}/bundle", "The receipt as a Sigstore bundle"),
  downloadEnvelope: download("/v1/verify/{id}/envelope", "The DSSE envelope"),
  downloadTlogProof: download(
    "/v1/verify/{id}/tlog-proof",
    "The C2SP log proof, with the leaf in its extra line",
  ),
  downloadPayload: download("/v1/verify/{id}/payload", "The exact signed bytes"),
  downloadSignature: download(
    "/v1/verify/{id}/signature",
    "The 64 bytes of the Ed25519 signature over the payload",
  ),
  listAttestations: {
    method: "GET",
    path: "/v1/attestations",
    summary: "One's own attestations, private ones included, newest first",
    tag: "Attestations",
    auth: withKey("read"),
    limit: "keyed",
    query: listAttestationsQuery,
    responses: { 200: ownAttestationsResponse },
    errors: [401, 403],
  },
  eraseContent: {
    method: "DELETE",
    path: "/v1/attestations/{id}/content",
    summary: "Erase an attestation's content for ever; its log entry stays",
    tag: "Attestations",
    auth: withKey("attest"),
    limit: "keyed",
    responses: { 200: eraseResponse },
    errors: [401, 403, 404],
  },
  verifierProgram: verifierFile("/verify.mjs", "The offline verifier, one file for Node 20 or newer"),
  verifierChecksum: verifierFile("/verify.mjs.sha256", "Its SHA-256, as sha256sum -c reads it"),
} as const satisfies Record<string, OperationSpec>;
