/** The database judges a quorum as it is meant: which checkpoint is shown depends on it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Quorum } from "#lib/protocol/approval/assign-groups";
import { meetsQuorum } from "#support/quorum";
import { setupTestApp } from "#support/setup-app";

const names = ["w.test/1", "w.test/2", "w.test/3", "w.test/4"];
const { quorum } = fc.letrec<{ quorum: Quorum; group: Quorum }>((tie) => ({
  quorum: fc.oneof({ maxDepth: 3 }, fc.constantFrom(...names), tie("group")),
  group: fc.record({ k: fc.nat(3), of: fc.array(tie("quorum"), { maxLength: 3 }) }),
}));

describe("a quorum in the database", () => {
  const { test } = setupTestApp();

  it("is met by the same witnesses, however its groups are nested", async () => {
    const { database } = test.app.context;
    await fc.assert(
      fc.asyncProperty(quorum, fc.subarray(names), async (asked, given) => {
        const { rows } = await database.query("SELECT meets_quorum($1::text[], $2::text::jsonb) AS met", [
          `{${given.join(",")}}`,
          JSON.stringify(asked),
        ]);
        expect(rows[0]?.["met"]).toBe(meetsQuorum(asked, new Set(given)));
      }),
      { numRuns: 200 },
    );
  });
});
