/**
 * Which checkpoint is shown: the newest that meets the witness policy. Under constant load the newest of all is never
 * cosigned yet, and everyone still gets cosigned ones. The log doesn't wait for witnesses.
 */
import { and, desc, eq, inArray, max, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { logCheckpoints, logCosignatures } from "#lib/db/schema";
import type { Head } from "#lib/log/sequencer/append";
import { addNoteSignatures } from "#lib/protocol/tlog/checkpoint";
import { parseSignatureLines } from "#lib/protocol/tlog/signed-note";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";

export interface ShownCheckpoint {
  size: number;
  note: string;
}

/** Null-safe: a size that was cosigned once has not been renewed. */
const lastCosigned =
  sql<Date>`coalesce(${logCosignatures.renewed_at}, ${logCosignatures.created_at})`.mapWith(
    logCosignatures.created_at,
  );

type Policy = WitnessPolicySettings | undefined;

/** Witnesses that have been silent for longer do not hold the newest checkpoint back; they are asked once a minute. */
const patienceSeconds = 120;

async function addCosignatures(
  executor: Executor,
  logId: number,
  shown: ShownCheckpoint,
): Promise<ShownCheckpoint> {
  const rows = await executor
    .select({ line: logCosignatures.line })
    .from(logCosignatures)
    .where(and(eq(logCosignatures.log_id, logId), eq(logCosignatures.size, shown.size)));
  const signatures = rows.flatMap(({ line }) => parseSignatureLines(line));
  return { size: shown.size, note: addNoteSignatures(shown.note, signatures) };
}

/** The newest checkpoint with enough cosignatures, and whether they are fresh; null if there is none. */
async function findCosigned(executor: Executor, logId: number, { witnesses, quorum }: WitnessPolicySettings) {
  const names = witnesses.map(({ key }) => key.name);
  const [newest] = await executor
    .select({
      size: logCosignatures.size,
      isFresh: sql<boolean>`${max(lastCosigned)} > now() - make_interval(secs => ${patienceSeconds})`,
    })
    .from(logCosignatures)
    .where(and(eq(logCosignatures.log_id, logId), inArray(logCosignatures.witness, names)))
    .groupBy(logCosignatures.size)
    .having(sql`meets_quorum(array_agg(${logCosignatures.witness}), ${JSON.stringify(quorum)}::text::jsonb)`)
    .orderBy(desc(logCosignatures.size))
    .limit(1);
  if (!newest) return null;
  const [row] = await executor
    .select({ note: logCheckpoints.note })
    .from(logCheckpoints)
    .where(and(eq(logCheckpoints.log_id, logId), eq(logCheckpoints.size, newest.size)));
  return row ? { ...newest, note: row.note } : null;
}

/** Response of GET /log/checkpoint. */
export async function readShownCheckpoint(
  executor: Executor,
  head: Head,
  policy: Policy,
): Promise<ShownCheckpoint> {
  const newest = { size: head.size, note: head.checkpoint };
  if (policy === undefined) return newest;
  const cosigned = await findCosigned(executor, head.id, policy);
  const isShown = cosigned !== null && (cosigned.isFresh || cosigned.size === head.size);
  return addCosignatures(executor, head.id, isShown ? cosigned : newest);
}

/**
 * SQL of what a receipt for leaf `index` carries: the newest checkpoint that the policy is met for if that one covers
 * the leaf, else the head's. `witnesses`: the policy's names, NULL without one; `quorum`: as JSON. For a lateral join.
 */
export function selectCovering(
  head: Record<"logId" | "size" | "note", string>,
  index: string,
  policy: Record<"witnesses" | "quorum", string>,
): string {
  const { logId, size, note } = head;
  return `SELECT coalesce(c.size, ${size}) AS size, coalesce(c.note, ${note}) AS note,
      (SELECT string_agg(s.line, '') FROM log_cosignatures s
        WHERE ${policy.witnesses}::text[] IS NOT NULL AND s.log_id = ${logId} AND s.size = coalesce(c.size, ${size})) AS cosignatures
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
      SELECT k.size, k.note FROM (
        SELECT s.size FROM log_cosignatures s
        WHERE ${policy.witnesses}::text[] IS NOT NULL AND s.log_id = ${logId} AND s.witness = ANY(${policy.witnesses}::text[])
        GROUP BY s.size HAVING meets_quorum(array_agg(s.witness), ${policy.quorum}::text::jsonb) ORDER BY s.size DESC LIMIT 1
      ) AS newest JOIN log_checkpoints k ON k.log_id = ${logId} AND k.size = newest.size
    ) AS c ON c.size > ${index}`;
}

/** By witness: the largest size that it has cosigned of this log, as far as this service knows. */
export async function readCosignedSizes(executor: Executor, logId: number) {
  const rows = await executor
    .select({
      witness: logCosignatures.witness,
      size: max(logCosignatures.size),
      cosignedAt: sql<Date | null>`max(${lastCosigned})`.mapWith(logCosignatures.created_at),
    })
    .from(logCosignatures)
    .where(eq(logCosignatures.log_id, logId))
    .groupBy(logCosignatures.witness);
  return new Map(
    rows.map(({ witness, size, cosignedAt }) => [witness, { size: Number(size ?? 0), cosignedAt }]),
  );
}
