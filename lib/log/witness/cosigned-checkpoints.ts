/**
 * Which checkpoint is shown: the newest that meets the witness policy. Under constant load the newest of all is never
 * cosigned yet, and everyone still gets cosigned ones. The log doesn't wait for witnesses.
 */
import { and, desc, eq, inArray, max, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { cosignedNotes, logCheckpoints, logCosignatures } from "#lib/db/schema";
import { readOpenHead } from "#lib/log/reading/reader";
import type { Head } from "#lib/log/sequencer/append";
import { earliest, hashNote, readCosigners, toBound } from "#lib/protocol/time/not-before";
import type { NotBefore } from "#lib/protocol/time/not-before-shape";
import { addNoteSignatures, parseSignatureLines } from "#lib/protocol/tlog/checkpoint";
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

/* Cosigned checkpoints that statements name in `not_before`, kept byte for byte before any statement can name them. */

export interface FoundBound {
  bound: NotBefore;
  atMs: number;
}

async function readNewestLines(executor: Executor, logId: number, names: string[]) {
  const own = and(eq(logCosignatures.log_id, logId), inArray(logCosignatures.witness, names));
  const [newest] = await executor
    .select({ size: logCosignatures.size, note: logCheckpoints.note })
    .from(logCosignatures)
    .innerJoin(
      logCheckpoints,
      and(eq(logCheckpoints.log_id, logCosignatures.log_id), eq(logCheckpoints.size, logCosignatures.size)),
    )
    .where(own)
    .orderBy(desc(logCosignatures.size))
    .limit(1);
  if (!newest) return null;
  const rows = await executor
    .select({ line: sql<string>`coalesce(${logCosignatures.renewed_line}, ${logCosignatures.line})` })
    .from(logCosignatures)
    .where(and(own, eq(logCosignatures.size, newest.size)))
    .orderBy(logCosignatures.witness);
  return { ...newest, lines: rows.map(({ line }) => line) };
}

/**
 * The newest checkpoint that a witness of the policy has cosigned, as a bound; null if there is none. Lines that say a
 * time which is not over by the service's own clock are left out: what is signed now would contradict them.
 */
export async function keepNewestCosigned(
  executor: Executor,
  { witnesses }: WitnessPolicySettings,
  now: Date,
): Promise<FoundBound | null> {
  const keys = witnesses.map(({ key }) => key);
  const head = await readOpenHead(executor);
  const newest = await readNewestLines(
    executor,
    head.id,
    keys.map(({ name }) => name),
  );
  if (newest === null) return null;
  const addLines = (lines: string[]) => addNoteSignatures(newest.note, lines.flatMap(parseSignatureLines));
  const past = newest.lines.filter((line) => {
    const [one] = readCosigners(addLines([line]), keys) ?? [];
    return one !== undefined && one.timeMs <= now.getTime();
  });
  if (past.length === 0) return null;
  const note = addLines(past);
  const row = { hash: hashNote(note), log_id: head.id, size: newest.size, note };
  await executor.insert(cosignedNotes).values(row).onConflictDoNothing();
  return { bound: toBound(note), atMs: earliest(readCosigners(note, keys) ?? []) };
}

export async function findCosignedNote(executor: Executor, hash: string): Promise<string | null> {
  const [row] = await executor.select().from(cosignedNotes).where(eq(cosignedNotes.hash, hash));
  return row?.note ?? null;
}
