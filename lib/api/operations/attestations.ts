/** Attestations: created by agents, verified by anyone. */
import {
  type AttestBatchBody,
  attestBatchBody,
  attestBatchResponse,
  attestBody,
  attestResponse,
  otlpResponse,
} from "#lib/api/schemas/attest";
import { searchQuery, searchResponse } from "#lib/api/schemas/identity";
import { presentationRequest, zkProof } from "#lib/api/schemas/presentation";
import {
  eraseResponse,
  listAttestationsQuery,
  ownAttestationsResponse,
  verifyResponse,
} from "#lib/api/schemas/receipts";
import { anchorsResponse } from "#lib/api/schemas/record";
import { PYTHON_WHEEL, RETIRED_PYTHON_WHEEL } from "#lib/protocol/statement/product";
import {
  bundleFile,
  bytesFile,
  envelopeFile,
  packageFile,
  payloadFile,
  scittFile,
  scriptFile,
  textFile,
  wheelFile,
} from "./files";
import { anyone, type FileSpec, type OperationSpec, ownerSeesMore, withKey } from "./operation";

export const attestationsOperations = {
  attest: {
    method: "POST",
    path: "/v1/attest",
    summary: "Record an agent's action as a signed, logged attestation",
    tag: "Attestations",
    auth: withKey("attest", "hook", "record"),
    rechecksCaller: true,
    runsInWriter: true,
    limit: "attest",
    body: attestBody,
    idempotent: true,
    responses: { 201: attestResponse },
    errors: [401, 403, 409, 413, 422],
  },
  attestBatch: {
    method: "POST",
    path: "/v1/attest/batch",
    summary: "Record up to 100 actions, each with an answer of its own",
    tag: "Attestations",
    auth: withKey("attest", "hook", "record"),
    runsInWriter: true,
    limit: "attest",
    countsAs: ({ attestations }: AttestBatchBody) => attestations.length,
    body: attestBatchBody,
    maxBodyBytes: 1024 * 1024,
    idempotent: "by_entry",
    responses: { 201: attestBatchResponse, 207: attestBatchResponse },
    errors: [401, 403, 409, 413, 422],
  },
  otlpTraces: {
    method: "POST",
    path: "/v1/otlp/v1/traces",
    summary: "Record the tools that ran and the agents that were invoked by OpenTelemetry's spans",
    tag: "Attestations",
    auth: withKey("record"),
    runsInWriter: true,
    limit: "attest",
    payload: "otlp",
    responses: { 200: otlpResponse },
    errors: [401, 403, 413],
  },
  otlpLogs: {
    method: "POST",
    path: "/v1/otlp/v1/logs",
    summary: "Record the tools that ran and the agents that were invoked by OpenTelemetry's log records",
    tag: "Attestations",
    auth: withKey("record"),
    runsInWriter: true,
    limit: "attest",
    payload: "otlp",
    responses: { 200: otlpResponse },
    errors: [401, 403, 413],
  },
  verify: {
    method: "GET",
    path: "/v1/verify/{id}",
    summary: "Verify an attestation from its stored bytes",
    tag: "Attestations",
    auth: ownerSeesMore,
    limit: "verify",
    responses: { 200: verifyResponse },
    errors: [404],
  },
} as const satisfies Record<string, OperationSpec>;

/* Presentations of a zero-knowledge credential. */

export const presentationsOperations = {
  /** Scope `read`: it shows no more than its key could read, and records nothing in the log. */
  createPresentation: {
    method: "POST",
    path: "/v1/attestations/{id}/presentations",
    summary: "Create a zero-knowledge presentation of your attestation for one audience",
    tag: "Attestations",
    auth: withKey("read"),
    limit: "keyed",
    body: presentationRequest,
    responses: { 201: zkProof },
    errors: [401, 403, 404, 409, 413, 422],
  },
} as const satisfies Record<string, OperationSpec>;

/* Receipts as files, the caller's attestations, erasure, and the programs that people and agents run. */

/** `errors`: 409 if the file is made of the payload, which may have been erased. */
const download = <Path extends string>(path: Path, summary: string, file: FileSpec, errors = [404, 409]) =>
  ({
    method: "GET",
    path,
    summary,
    tag: "Attestations",
    auth: ownerSeesMore,
    limit: "verify",
    responses: { 200: null },
    file,
    errors,
  }) as const satisfies OperationSpec;

const programFile = <Path extends string>(path: Path, summary: string, file: FileSpec) =>
  ({
    method: "GET",
    path,
    summary,
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: null },
    file,
    errors: [404],
  }) as const satisfies OperationSpec;

const retiredFile = <Path extends string>(path: Path) =>
  ({
    method: "GET",
    path,
    summary: "The Python client's name in 1.0.0",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: {},
    errors: [410],
    internal: true,
  }) as const satisfies OperationSpec;

export const receiptsOperations = {
  downloadBundle: download("/v1/verify/{id}/bundle", "The receipt as a Sigstore bundle", bundleFile),
  downloadEnvelope: download("/v1/verify/{id}/envelope", "The DSSE envelope", envelopeFile),
  downloadTlogProof: download(
    "/v1/verify/{id}/tlog-proof",
    "The C2SP log proof, with the leaf in its extra line",
    textFile,
    [404],
  ),
  downloadPayload: download("/v1/verify/{id}/payload", "The exact signed bytes", payloadFile),
  downloadSignature: download(
    "/v1/verify/{id}/signature",
    "The 64-byte Ed25519 signature over the payload",
    bytesFile,
    [404],
  ),
  downloadScitt: download(
    "/v1/verify/{id}/scitt",
    "The payload as a SCITT transparent statement in COSE, with a receipt of its leaf",
    scittFile,
  ),
  readAnchors: {
    method: "GET",
    path: "/v1/verify/{id}/anchors",
    summary:
      "Checkpoints that witnesses cosigned or authorities stamped, each with a proof that they cover it",
    tag: "Attestations",
    auth: anyone,
    limit: "verify",
    responses: { 200: anchorsResponse },
    errors: [404],
  },
  search: {
    method: "GET",
    path: "/v1/search",
    summary: "Find public attestations by id, payload hash, inputs hash, request id or log index",
    tag: "Attestations",
    auth: anyone,
    limit: "public_read",
    query: searchQuery,
    responses: { 200: searchResponse },
    errors: [],
  },
  listAttestations: {
    method: "GET",
    path: "/v1/attestations",
    summary: "List your attestations, including private ones, newest first",
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
    summary: "Permanently erase an attestation's content; its log entry stays",
    tag: "Attestations",
    auth: withKey("erase"),
    limit: "keyed",
    responses: { 200: eraseResponse },
    errors: [401, 403, 404],
  },
  verifierProgram: programFile(
    "/verify.mjs",
    "The offline verifier, one file for Node 20 or newer",
    scriptFile,
  ),
  verifierChecksum: programFile(
    "/verify.mjs.sha256",
    "SHA-256 of the offline verifier, for sha256sum -c",
    textFile,
  ),
  commandProgram: programFile(
    "/countersign.mjs",
    "The command line, one file for Node 20 or newer",
    scriptFile,
  ),
  commandChecksum: programFile(
    "/countersign.mjs.sha256",
    "SHA-256 of the command line, for sha256sum -c",
    textFile,
  ),
  clientPackage: programFile(
    "/countersign.tgz",
    "The client and the command line as an npm package without dependencies",
    packageFile,
  ),
  pythonWheel: programFile(
    `/${PYTHON_WHEEL}`,
    "The Python client, with its offline verifier, as a wheel for pip",
    wheelFile,
  ),
  pythonWheelChecksum: programFile(
    `/${PYTHON_WHEEL}.sha256`,
    "SHA-256 of the Python client, for sha256sum -c",
    textFile,
  ),
  servedPackage: programFile(
    "/packages/{digest}/{file}",
    "A package for npm or pip under an address whose bytes never change",
    bytesFile,
  ),
  retiredPythonWheel: retiredFile(`/${RETIRED_PYTHON_WHEEL}`),
  retiredPythonWheelChecksum: retiredFile(`/${RETIRED_PYTHON_WHEEL}.sha256`),
} as const satisfies Record<string, OperationSpec>;
