/** Attestations: created by agents, verified by anyone. */

import { z } from "zod";
import {
  type AttestBatchBody,
  attestBatchBody,
  attestBatchResponse,
  attestBody,
  attestResponse,
  otlpResponse,
  presentationRequest,
  zkProof,
} from "#lib/api/schemas/attest";
import { searchQuery, searchResponse } from "#lib/api/schemas/identity";
import { anyObject, base64Text } from "#lib/api/schemas/primitives";
import {
  eraseResponse,
  listAttestationsQuery,
  ownAttestationsResponse,
  verifyResponse,
} from "#lib/api/schemas/receipts";
import { anchorsResponse } from "#lib/api/schemas/record";
import { BUNDLE_MEDIA_TYPE } from "#lib/protocol/statement/bundle";
import { PYTHON_WHEEL, RETIRED_PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { SCITT_MEDIA_TYPE } from "#lib/protocol/statement/scitt";
import {
  AGENT_ACTION_PREDICATE,
  STATEMENT_MEDIA_TYPE,
  STATEMENT_TYPE,
} from "#lib/protocol/statement/statement";
import { anyone, type FileSpec, type OperationSpec, ownerSeesMore, withKey } from "./operation";

const envelope = z
  .strictObject({
    payload: base64Text,
    payloadType: z.literal(STATEMENT_MEDIA_TYPE),
    signatures: z.array(z.strictObject({ keyid: z.string(), sig: base64Text })).length(1),
  })
  .meta({ id: "DsseEnvelope" });

const decimal = z.string().regex(/^(?:0|[1-9]\d*)$/);

const logEntry = z.strictObject({
  logIndex: decimal,
  logId: z.strictObject({ keyId: base64Text }),
  kindVersion: z.strictObject({ kind: z.string(), version: z.string() }),
  integratedTime: decimal.meta({
    description: "when the log accepted the entry, in Unix seconds; not signed",
  }),
  inclusionProof: z.strictObject({
    logIndex: decimal,
    rootHash: base64Text,
    treeSize: decimal,
    hashes: z.array(base64Text),
    checkpoint: z.strictObject({ envelope: z.string() }),
  }),
  canonicalizedBody: base64Text,
});

const bundle = z
  .strictObject({
    mediaType: z.literal(BUNDLE_MEDIA_TYPE),
    dsseEnvelope: envelope,
    verificationMaterial: z.strictObject({
      publicKey: z.strictObject({ hint: z.string() }),
      tlogEntries: z.array(logEntry).length(1),
    }),
  })
  .meta({ id: "SigstoreBundle" });

const statement = z
  .strictObject({
    _type: z.literal(STATEMENT_TYPE),
    subject: z
      .array(z.strictObject({ name: z.literal("inputs"), digest: z.record(z.string(), z.string()) }))
      .length(1),
    predicateType: z.literal(AGENT_ACTION_PREDICATE),
    predicate: anyObject,
  })
  .meta({ id: "ActionStatement" });

const text = z.string();

const bundleFile: FileSpec = { mediaType: BUNDLE_MEDIA_TYPE, schema: bundle };
const envelopeFile: FileSpec = {
  mediaType: "application/vnd.dsse.envelope.v1+json",
  schema: envelope,
};
const payloadFile: FileSpec = { mediaType: STATEMENT_MEDIA_TYPE, schema: statement };
export const textFile: FileSpec = { mediaType: "text/plain", schema: text };
const scriptFile: FileSpec = { mediaType: "text/javascript", schema: text };
const packageFile: FileSpec = {
  mediaType: "application/gzip",
  schema: text.meta({ format: "binary" }),
};
const wheelFile: FileSpec = { mediaType: "application/zip", schema: text.meta({ format: "binary" }) };
const scittFile: FileSpec = { mediaType: SCITT_MEDIA_TYPE, schema: text.meta({ format: "binary" }) };
export const bytesFile: FileSpec = {
  mediaType: "application/octet-stream",
  schema: text.meta({ format: "binary" }),
};

const otlp = {
  method: "POST",
  tag: "Attestations",
  auth: withKey("record"),
  runsInWriter: true,
  limit: "attest",
  payload: "otlp",
  responses: { 200: otlpResponse },
  errors: [401, 403, 413],
} as const;

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
    ...otlp,
    path: "/v1/otlp/v1/traces",
    summary: "Record the tools that ran and the agents that were invoked by OpenTelemetry's spans",
  },
  otlpLogs: {
    ...otlp,
    path: "/v1/otlp/v1/logs",
    summary: "Record the tools that ran and the agents that were invoked by OpenTelemetry's log records",
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
  /** Permission `read`: it shows no more than its key could read, and records nothing in the log. */
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
