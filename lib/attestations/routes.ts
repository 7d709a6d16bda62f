/** Runs the operations of lib/contract/operations-attestations.ts. */
import type { attestationsOperations as specs } from "#lib/contract/operations-attestations";
import { type Runs, requireCaller } from "#lib/door/route";
import { attest } from "./attest";
import { verifyAttestationById } from "./verify";

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
