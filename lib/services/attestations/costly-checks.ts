/** The pairing checks of a verification, in the bounded pool and remembered under the hash of all they read. */

import { eq } from "drizzle-orm";
import { signingKeys } from "#lib/db/schema";
import type { Share } from "#lib/jobs/fair-share";
import { fail, firstFailure, pass } from "#lib/protocol/statement/outcome";
import type { CostlyChecks } from "#lib/protocol/statement/receipt";
import type { Context } from "#lib/services/approvals/context";
import { summarizePublicProof } from "#lib/verifier/checks/presentation-verify";

/** `isPayloadShown`: to the reader of the verdict; the service has it either way. `share`: whose checks these are. */
export function createCostlyChecks(context: Context, isPayloadShown: boolean, share: Share): CostlyChecks {
  return {
    verifyHumanAuthorization: async (object) => {
      const published = await context.keys.published();
      const serviceKeys = published.map(({ keyId, publicKey }) => ({ keyId, publicKey }));
      const input = { object, serviceKeys, v4KeyJson: context.worldId.v4KeyJson };
      const report = await context.pool.runRemembered("verifyHumanAuthorization", input, share);
      return report === null
        ? fail("authorization_malformed")
        : (firstFailure(report.checks) ?? pass(report.grade_text));
    },
    verifyBeacon: (bound) => context.pool.runRemembered("verifyBeacon", bound, share),
    verifyZkProof: async (zkProof, { attestationId, payload }) => {
      const rows = await context.database.db
        .select({ publicKey: signingKeys.public_key, status: signingKeys.status })
        .from(signingKeys)
        .where(eq(signingKeys.purpose, "zk"));
      const keysWhere = (isRevoked: boolean) =>
        rows.filter(({ status }) => (status === "revoked") === isRevoked).map(({ publicKey }) => publicKey);
      const input = {
        zkProof,
        pinnedKeys: keysWhere(false),
        revokedKeys: keysWhere(true),
        expected: { attestationId, audience: "public", ...(payload === null ? {} : { payload }) },
      };
      const report = await context.pool.runRemembered("verifyPresentation", input, share);
      return summarizePublicProof(report, isPayloadShown && payload !== null);
    },
  };
}
