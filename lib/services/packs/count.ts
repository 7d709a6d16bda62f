/**
 * The signed count with which an evidence pack ends: only the service's own statement about the last number, with its
 * time, shows that nothing was cut off behind it.
 */

import { fieldError } from "#lib/errors";
import { shareOf } from "#lib/jobs/fair-share";
import { makeSnapshot, SnapshotTaken } from "#lib/log/records/agent-heads";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type PackFacts, type PackPeriod, readCounted } from "#lib/protocol/pack/pack-manifest";
import type { Context } from "#lib/services/approvals/context";
import { readAgentRecord } from "#lib/services/attestations/record";
import type { PackOwner } from "./range";

type Counted = PackFacts["record"]["counted"];

async function readHead(context: Context, slug: string): Promise<{ head: number; counted: Counted }> {
  const record = await readAgentRecord(context, slug, { from: 1, limit: 1 });
  return { head: record.head.sequence, counted: readCounted(record as unknown as JsonObject) };
}

/** Makes a new count; the pack is made without one too, and says so. */
async function makeCount(context: Context, { organizationId }: PackOwner): Promise<boolean> {
  const share = shareOf("other", { organization: organizationId });
  try {
    await makeSnapshot({
      ...context,
      merge: (before, given) => context.pool.run("mergeHeads", { before, given }, share),
    });
    return true;
  } catch (error) {
    // One that was made meanwhile counts as much.
    if (error instanceof SnapshotTaken) return true;
    context.logger.error({ err: error }, "an evidence pack is made without a signed count of its own");
    return false;
  }
}

/** Older, and a pack up to now gets a count of its own. */
const freshMs = 60_000;

/** The record's last number, and a count of now or of the period's end: one is made unless it is there. */
export async function countRecord(
  context: Context,
  owner: PackOwner,
  slug: string,
  { from, to }: PackPeriod,
): Promise<{ head: number; counted: Counted }> {
  const known = await readHead(context, slug);
  const { head, counted } = known;
  const nowMs = context.clock().getTime();
  // A fresh one of the day before can't end a period that has begun since.
  const begunMs = Date.parse(from) < nowMs ? Date.parse(from) + 1 : 0;
  const neededMs = Math.min(Date.parse(to), Math.max(nowMs - freshMs, begunMs));
  const isCounted = counted?.entries === head && Date.parse(counted.at) >= neededMs;
  if (head === 0 || isCounted) return known;
  return (await makeCount(context, owner)) ? readHead(context, slug) : { head, counted: null };
}

/** Without an entry after it, a period ends with the count at the latest: what is still to come can't be signed. */
export function endWithCount({ from, to }: PackPeriod, counted: Counted): PackPeriod {
  if (counted === null || counted.at >= to) return { from, to };
  if (counted.at <= from) throw fieldError("validation_error", "from", "must not be in the future");
  return { from, to: counted.at };
}
