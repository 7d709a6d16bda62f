/** Presentations of a zero-knowledge credential. */

import { presentationRequest } from "#lib/api/schemas/presentation";
import { zkProof } from "#lib/api/schemas/zk";
import { type OperationSpec, withKey } from "./operation";

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
