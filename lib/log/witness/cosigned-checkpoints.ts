/**
 * Chooses the checkpoint that is shown: the newest that meets the witness policy. Under constant load the newest of all is
 * never cosigned yet, and everyone still gets cosigned ones. The log doesn't wait for witnesses.
 */
import { and, desc, eq, inArray, lte, max, or, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { cosignedNotes, logCheckpoints, logCosignatures } from "#lib/db/schema";
import {
  POST_QUANTUM_LINE,
  postQuantumPatienceSeconds,
  readOpenHead,
  selectSignedTwice,
} from "#lib/log/reading/reader";
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
  const names = witnesses.map(({ name }) => name);
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

type Head = Awaited<ReturnType<typeof readOpenHead>>;

/** Chooses one without its cosignatures: what the log signs a second time. */
export async function chooseCheckpoint(
  executor: Executor,
  head: Head,
  policy: Policy,
): Promise<ShownCheckpoint> {
  const newest = { size: head.size, note: head.checkpoint };
  if (policy === undefined) return newest;
  const cosigned = await findCosigned(executor, head.id, policy);
  const isShown = cosigned !== null && (cosigned.isFresh || cosigned.size === head.size);
  return isShown ? cosigned : newest;
}

const selectCosigned = (executor: Executor) =>
  executor
    .select({ size: logCosignatures.size, note: logCheckpoints.note })
    .from(logCosignatures)
    .innerJoin(
      logCheckpoints,
      and(eq(logCheckpoints.log_id, logCosignatures.log_id), eq(logCheckpoints.size, logCosignatures.size)),
    );

/** The newest checkpoint that the log has signed twice; null if there is none, or the chosen one is. */
async function findSignedTwice(executor: Executor, logId: number, chosen: number) {
  const [found] = await selectCosigned(executor)
    .where(
      and(
        eq(logCosignatures.log_id, logId),
        eq(logCosignatures.witness, POST_QUANTUM_LINE),
        or(
          eq(logCosignatures.size, chosen),
          and(
            lte(logCosignatures.size, chosen),
            sql`${logCosignatures.created_at} > now() - make_interval(secs => ${postQuantumPatienceSeconds})`,
          ),
        ),
      ),
    )
    .orderBy(desc(logCosignatures.size))
    .limit(1);
  return found ?? null;
}

/** A log that signs twice never shows less: what it has signed once is shown a moment later. */
export async function readShownCheckpoint(
  executor: Executor,
  head: Head,
  policy: Policy,
): Promise<ShownCheckpoint> {
  const chosen = await chooseCheckpoint(executor, head, policy);
  return addCosignatures(
    executor,
    head.id,
    (await findSignedTwice(executor, head.id, chosen.size)) ?? chosen,
  );
}

/**
 * SQL of what a receipt for leaf `index` carries: the newest checkpoint over it that the policy is met for, with the log's
 * second signature if one has it; else the newest that the log has signed twice, else the head's. `witnesses`: the policy's names, NULL without one; `quorum`: as JSON. For a lateral join.
 */
export function selectCovering(
  head: Record<"logId" | "size" | "note", string>,
  index: string,
  policy: Record<"witnesses" | "quorum", string>,
): string {
  const { logId, size, note } = head;
  const found = `coalesce(c.size, twice.size, ${size})`;
  return `SELECT ${found} AS size, coalesce(c.note, twice.note, ${note}) AS note,
      (SELECT string_agg(s.line, '') FROM log_cosignatures s
        WHERE s.log_id = ${logId} AND s.size = ${found}
          AND (${policy.witnesses}::text[] IS NOT NULL OR s.witness = '${POST_QUANTUM_LINE}')) AS cosignatures
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
      SELECT k.size, k.note FROM (
        SELECT s.size FROM log_cosignatures s
        WHERE ${policy.witnesses}::text[] IS NOT NULL AND s.log_id = ${logId} AND s.size > ${index}
          AND (s.witness = ANY(${policy.witnesses}::text[]) OR s.witness = '${POST_QUANTUM_LINE}')
        GROUP BY s.size HAVING meets_quorum(array_agg(s.witness), ${policy.quorum}::text::jsonb)
        ORDER BY bool_or(s.witness = '${POST_QUANTUM_LINE}') DESC, s.size DESC LIMIT 1
      ) AS newest JOIN log_checkpoints k ON k.log_id = ${logId} AND k.size = newest.size
    ) AS c ON true
    LEFT JOIN LATERAL (${selectSignedTwice(head, index)}) AS twice ON c.size IS NULL`;
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
  const [newest] = await selectCosigned(executor).where(own).orderBy(desc(logCosignatures.size)).limit(1);
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
  const keys = witnesses.flatMap((one) => one.keys);
  const head = await readOpenHead(executor);
  const newest = await readNewestLines(
    executor,
    head.id,
    witnesses.map(({ name }) => name),
  );
  if (newest === null) return null;
  const addLines = (lines: string[]) => addNoteSignatures(newest.note, lines.flatMap(parseSignatureLines));
  const past = newest.lines.filter((line) => {
    const signed = readCosigners(addLines([line]), keys) ?? [];
    return signed.length > 0 && signed.every(({ timeMs }) => timeMs <= now.getTime());
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
