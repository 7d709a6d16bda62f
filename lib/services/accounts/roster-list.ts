/** The rosters of an organization, newest first, as its people and its monitor read them. */
import { and, desc, eq } from "drizzle-orm";
import type { RosterResponse } from "#lib/api/schemas/rosters";
import type { Executor } from "#lib/db/client";
import { rosters } from "#lib/db/schema";
import { hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { RosterEntry, RosterHead } from "#lib/protocol/passkey/roster-shape";
import type { RosterChange } from "./roster-state";

export async function listRosters(
  executor: Executor,
  organizationId: string,
  { number, limit }: { number: number | undefined; limit: number },
) {
  const isWanted = number === undefined ? undefined : eq(rosters.number, number);
  const rows = await executor
    .select()
    .from(rosters)
    .where(and(eq(rosters.organization_id, organizationId), isWanted))
    .orderBy(desc(rosters.number))
    .limit(limit);
  return rows.map((row) => ({
    head: JSON.parse(utf8Decode(row.head)) as RosterHead,
    hash: hexEncode(sha256(row.head)),
    entries: JSON.parse(row.entries) as RosterEntry[],
    changes: JSON.parse(row.changes) as RosterChange[],
    log_index: row.leaf_index,
  }));
}

/** The newest, or the one with the number. */
export async function readRoster(
  executor: Executor,
  organizationId: string,
  number: number | undefined,
): Promise<RosterResponse> {
  const [roster = null] = await listRosters(executor, organizationId, { number, limit: 1 });
  return { organization: organizationId, roster };
}
