/** Runs the operations of lib/contract/operations-attestations.ts. */
import type { attestationsOperations as specs } from "#lib/contract/operations-attestations";
import { attest } from "#lib/services/attest";
import { verifyAttestationById } from "#lib/services/verify-attestation";
import { type Runs, requireCaller } from "./route";

export const attestationsRuns: Runs<typeof specs> = {
  attest: async (call) => ({
    status: 201,
    body: await attest(call.context, {
      caller: requireCaller(call),
      body: call.body,
      raw: call.raw,
      hold: call.hold,
    }),
  }),
  verify: async ({ context, params, caller, ip }) => ({
    body: await verifyAttestationById(context, params["id"] ?? "", caller?.organizationId ?? null, ip),
  }),
};
