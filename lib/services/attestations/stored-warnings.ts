/** Warnings for lists, which run no checklist: of rows whose signature holds, and the filter over them. */
import { inArray, isNotNull, or, type SQL, sql } from "drizzle-orm";
import { attestations } from "#lib/db/schema";
import type { PublishedKey } from "#lib/log/signing/signing-keys";
import type { ActionStatement } from "#lib/protocol/statement/statement";
import { drawWarnings, factsOfStatement, type Warning } from "#lib/protocol/statement/warnings";
import { isErased } from "./view";

type Row = Pick<typeof attestations.$inferSelect, "payload" | "erased_at" | "key_id">;

type Keys = readonly Pick<PublishedKey, "keyId" | "status">[];

export const revokedIds = (keys: Keys) =>
  keys.filter(({ status }) => status === "revoked").map(({ keyId }) => keyId);

/** Empty if the bytes aren't signed: nothing is shown of such a row. */
export function describeWarnings(row: Row, statement: ActionStatement | null, keys: Keys): Warning[] {
  if (isErased(row)) return drawWarnings({ isErased: true });
  if (statement === null) return [];
  const facts = factsOfStatement(statement.predicate, null);
  facts.isSigningKeyRevoked = keys.some(({ status, keyId }) => status === "revoked" && keyId === row.key_id);
  return drawWarnings(facts);
}

/** Over the search aid; what is shown is drawn from the signed bytes all the same. */
function isWarned(keys: Keys): SQL | undefined {
  const revoked = revokedIds(keys);
  return or(
    sql`coalesce(cardinality(${attestations.warnings}), 0) > 0`,
    isNotNull(attestations.erased_at),
    revoked.length === 0 ? undefined : inArray(attestations.key_id, revoked),
  );
}

export function matchesWarnings(wanted: boolean | undefined, keys: Keys): SQL | undefined {
  if (wanted === undefined) return undefined;
  return wanted ? isWarned(keys) : sql`NOT (${isWarned(keys)})`;
}
