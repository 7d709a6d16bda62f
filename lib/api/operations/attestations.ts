/** Attestations: created by agents, verified by anyone. */
import { attestBody, attestResponse } from "#lib/api/schemas/attest";
import { type AttestBatchBody, attestBatchBody, attestBatchResponse } from "#lib/api/schemas/attest-batch";
import { verifyResponse } from "#lib/api/schemas/verify";
import { type OperationSpec, ownerSeesMore, withKey } from "./operation";

export const attestationsOperations = {
  attest: {
    method: "POST",
    path: "/v1/attest",
    summary: "Record an agent's action as a signed, logged attestation",
    tag: "Attestations",
    auth: withKey("attest", "hook"),
    rechecksCaller: true,
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
    auth: withKey("attest", "hook"),
    limit: "attest",
    countsAs: ({ attestations }: AttestBatchBody) => attestations.length,
    body: attestBatchBody,
    maxBodyBytes: 1024 * 1024,
    idempotent: "by_entry",
    responses: { 201: attestBatchResponse, 207: attestBatchResponse },
    errors: [401, 403, 409, 413, 422],
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
