/** Cosigned checkpoints that statements name in `not_before`, kept byte for byte before any statement can name them. */
import { and, desc, eq, inArray, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { cosignedNotes, logCheckpoints, logCosignatures } from "#lib/db/schema";
import { readOpenHead } from "#lib/log/reading/reader";
import { boundOf, earliest, hashNote, readCosigners } from "#lib/protocol/time/not-before";
import type { NotBefore } from "#lib/protocol/time/not-before-shape";
import { addNoteSignatures } from "#lib/protocol/tlog/checkpoint";
import { parseSignatureLines } from "#lib/protocol/tlog/signed-note";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";

/** A bound, and the time that it vouches for. */
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
  return { bound: boundOf(note), atMs: earliest(readCosigners(note, keys) ?? []) };
}

export async function findCosignedNote(executor: Executor, hash: string): Promise<string | null> {
  const [row] = await executor.select().from(cosignedNotes).where(eq(cosignedNotes.hash, hash));
  return row?.note ?? null;
}
