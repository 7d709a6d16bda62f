/**
 * The log's second signature on checkpoints, by ML-DSA-44 (c2sp.org/tlog-checkpoint asks for it): made off the request path,
 * at most once a second for all machines, over the checkpoint that readers get. It is kept beside witnesses' lines. So what
 * is read hangs on it, at the cost of one signature a second instead of one an attestation.
 *
 * Its key is made from the secret seed of the log's Ed25519 key, and so is kept, wrapped, backed up and replaced with it.
 */
import { and, eq, inArray, lt, sql } from "drizzle-orm";
import { logCosignatures, signingKeys } from "#lib/db/schema";
import { takeLease } from "#lib/jobs/due-work";
import type { LogContext } from "#lib/log/context";
import { logMadeKeys } from "#lib/log/keys/key-events";
import { POST_QUANTUM_LINE, readOpenHead } from "#lib/log/reading/reader";
import type { Head } from "#lib/log/sequencer/append";
import { bytesEqual, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import {
  encodeSubtreeLine,
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  subtreeMessage,
} from "#lib/protocol/tlog/checkpoint";
import { chooseCheckpoint } from "./cosigned-checkpoints";

export const POST_QUANTUM_SEED = "countersign/log-ml-dsa-44/v1";

export type SignMlDsa = (input: {
  seed: Uint8Array;
  message: Uint8Array;
}) => Promise<{ publicKey: Uint8Array; signature: Uint8Array }>;

type Tools = Pick<LogContext, "database" | "clock" | "keys" | "log" | "logger" | "settings">;

/** Older lines are no longer read: a receipt gets the newest. */
const kept = 16;

async function keepKey({ database }: Tools, head: Head, publicKey: Uint8Array): Promise<boolean> {
  const purpose = "log_post_quantum" as const;
  const { db } = database;
  const own = and(eq(signingKeys.purpose, purpose), eq(signingKeys.log_id, head.id));
  const [known] = await db.select({ publicKey: signingKeys.public_key }).from(signingKeys).where(own);
  if (known !== undefined) {
    if (!bytesEqual(known.publicKey, publicKey))
      throw new Error("the log's second key is not the one that it has published");
    return false;
  }
  await db.transaction(async (tx) => {
    const active = and(eq(signingKeys.purpose, purpose), eq(signingKeys.status, "active"));
    await tx.update(signingKeys).set({ status: "retired", retired_at: sql`now()` }).where(active);
    const key = {
      key_id: hexEncode(sha256(publicKey)).slice(0, 16),
      purpose,
      public_key: publicKey,
      status: "active",
    } as const;
    await tx.insert(signingKeys).values({ ...key, log_id: head.id });
  });
  return true;
}

async function storeLine({ database }: Tools, logId: number, size: number, line: string): Promise<void> {
  const isOwn = and(eq(logCosignatures.log_id, logId), eq(logCosignatures.witness, POST_QUANTUM_LINE));
  await database.db
    .insert(logCosignatures)
    .values({ log_id: logId, size, witness: POST_QUANTUM_LINE, line })
    .onConflictDoNothing();
  const oldest = database.db
    .select({ size: logCosignatures.size })
    .from(logCosignatures)
    .where(isOwn)
    .orderBy(sql`${logCosignatures.size} DESC`)
    .offset(kept - 1)
    .limit(1);
  await database.db.delete(logCosignatures).where(and(isOwn, lt(logCosignatures.size, sql`(${oldest})`)));
}

/** Milliseconds to wait after a failure, of the database for example. */
const pauseMs = 5_000;

/**
 * True if there is nothing left to sign. While readers get an older checkpoint than the newest, there is: a cosignature, or
 * witnesses that are silent for too long, give them the newest without another commit.
 */
async function signNewest(tools: Tools, sign: SignMlDsa): Promise<boolean> {
  const { database, clock, keys, settings } = tools;
  const head = await readOpenHead(database.db);
  const { size, note } = await chooseCheckpoint(database.db, head, settings.WITNESSES);
  const [signed] = await database.db
    .select({ size: logCosignatures.size })
    .from(logCosignatures)
    .where(
      and(
        eq(logCosignatures.log_id, head.id),
        eq(logCosignatures.size, size),
        inArray(logCosignatures.witness, [POST_QUANTUM_LINE]),
      ),
    );
  const isNewest = size === head.size;
  if (signed) return isNewest;
  if (keys.logSigner.keyId !== head.key_id || !(await takeLease(database.db, POST_QUANTUM_LINE, 1)))
    return false;
  const timeSeconds = Math.floor(clock().getTime() / 1_000);
  const { publicKey, signature } = await sign({
    seed: keys.logSigner.deriveSeed(POST_QUANTUM_SEED),
    message: subtreeMessage(head.origin, timeSeconds, parseCheckpoint(parseNote(note).text)),
  });
  const isNew = await keepKey(tools, head, publicKey);
  const line = encodeSubtreeLine(makeVerifierKey(head.origin, 6, publicKey), timeSeconds, signature);
  await storeLine(tools, head.id, size, line);
  if (isNew) await logMadeKeys(tools);
  return !isNew && isNewest;
}

/** Removes them: without new ones, readers would get old checkpoints for a while. */
export async function stopPostQuantum({ database }: Pick<Tools, "database">): Promise<void> {
  await database.db.delete(logCosignatures).where(eq(logCosignatures.witness, POST_QUANTUM_LINE));
}

const retryMs = 1_000;

/** Signs after each commit; the answer ends it. */
export function startPostQuantum(tools: Tools, sign: SignMlDsa): () => Promise<void> {
  let running: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isDirty = false;
  let isClosed = false;
  const run = async () => {
    const isDone = await signNewest(tools, sign).catch((error: unknown) => {
      tools.logger.warn({ err: error }, "a checkpoint was not signed by ML-DSA-44; it is tried again");
      return null;
    });
    running = null;
    if (isDone === null) startAfter(pauseMs);
    else if (isDirty || !isDone) startAfter(retryMs);
  };
  const startAfter = (delayMs: number) => {
    if (isClosed || running !== null || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      isDirty = false;
      running = run();
    }, delayMs);
    timer.unref();
  };
  const schedule = () => {
    isDirty = true;
    startAfter(0);
  };
  tools.log.onCommit(schedule);
  schedule();
  return async () => {
    isClosed = true;
    if (timer !== null) clearTimeout(timer);
    await running;
  };
}
