/** The pairing checks of a verification, in the bounded pool and remembered under the hash of all they read. */

import { and, eq, ne } from "drizzle-orm";
import { signingKeys } from "#lib/db/schema";
import type { CostlyChecks } from "#lib/domain/verify";
import type { Context } from "./context";

export function createCostlyChecks(context: Context): CostlyChecks {
  return {
    verifyHumanAuthorization: async (object) => {
      const published = await context.keys.published();
      const serviceKeys = published.map(({ keyId, publicKey }) => ({ keyId, publicKey }));
      const report = await context.pool.runRemembered("verifyHumanAuthorization", {
        object,
        serviceKeys,
        v4KeyJson: context.worldId.v4KeyJson,
      });
      if (report === null) return { ok: false, detail: "the authorization is malformed" };
      const failed = report.checks.find(({ status }) => status === "fail");
      return { ok: report.ok, detail: failed ? `${failed.name}: ${failed.detail}` : report.grade_text };
    },
    verifyZkProof: async (zkProof, { attestationId, payload }) => {
      const rows = await context.database.db
        .select({ publicKey: signingKeys.public_key })
        .from(signingKeys)
        .where(and(eq(signingKeys.purpose, "zk"), ne(signingKeys.status, "revoked")));
      const report = await context.pool.runRemembered("verifyPresentation", {
        zkProof,
        pinnedKeys: rows.map(({ publicKey }) => publicKey),
        expected: { attestationId, audience: "public", ...(payload === null ? {} : { payload }) },
      });
      const failed = report.checks.find(({ status }) => status === "fail");
      const passed = "the service's BBS key signed these disclosed values";
      return { ok: report.ok, detail: failed ? `${failed.name}: ${failed.detail}` : passed };
    },
  };
}
