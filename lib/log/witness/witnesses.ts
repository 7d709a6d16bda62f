/**
 * Gets checkpoints cosigned, off the request path: commits that follow each other closely share a round, a
 * witness that does not answer is asked again later, and the log never waits for any of them. At start they
 * are asked first: a witness that knows a larger log than the database holds, or another one, is a fork guard of its own.
 */

import { sql } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { logCosignatures } from "#lib/db/schema";
import { takeLease } from "#lib/jobs/due-work";
import { readOpenHead, tileReader } from "#lib/log/reading/reader";
import type { Head } from "#lib/log/sequencer/append";
import { ForkGuardError } from "#lib/log/sequencer/fork-guard";
import type { Logger } from "#lib/logger";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { explainError } from "#lib/protocol/text/display-text";
import {
  addNoteSignatures,
  encodeSignatureLine,
  findSignatures,
  parseDecimal,
  parseNote,
  parseSignatureLines,
  verifyCosignature,
} from "#lib/protocol/tlog/checkpoint";
import { loadMlDsa } from "#lib/protocol/tlog/ml-dsa";
import { proveConsistency } from "#lib/protocol/tlog/tiles";
import { type AddCheckpointRequest, encodeAddCheckpoint } from "#lib/protocol/tlog/tlog-proof";
import type { Witness, WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import { readCosignedSizes } from "./cosigned-checkpoints";

/* The client's side of a witness (c2sp.org/tlog-witness): `POST <prefix>/add-checkpoint`. */

export type WitnessAnswer =
  | { kind: "cosigned"; lines: string; timesSeconds: number[] }
  /** The size at which the witness knows the log, if it says so: the request named another size or root. */
  | { kind: "conflict"; size: number | null }
  /** No proof leads from the root that it has cosigned at the old size to the checkpoint. */
  | { kind: "inconsistent" }
  | { kind: "failed"; problem: string };

const timeoutMs = 5_000;
const maxAnswerBytes = 100_000;

/** The witness knows no log of this origin, or knows it by another key (c2sp.org/tlog-witness). */
const unknownLog = ": give it this log's vkey, which /v1/pubkey shows";

/** Lines of all keys that it signs with. */
function readCosignatures(checkpoint: string, { keys }: Witness, body: string): WitnessAnswer {
  const note = parseNote(addNoteSignatures(checkpoint, parseSignatureLines(body)));
  const signing = keys.filter((key) => findSignatures(note, key).length > 0);
  if (signing.length === 0) return { kind: "failed", problem: "it did not cosign" };
  const times = signing.map((key) => verifyCosignature(note, key));
  const timesSeconds = times.filter((time) => time !== undefined);
  if (timesSeconds.length < times.length)
    return { kind: "failed", problem: "its cosignature does not verify" };
  const own = signing.flatMap((key) => findSignatures(note, key).slice(0, 1));
  return { kind: "cosigned", lines: own.map(encodeSignatureLine).join(""), timesSeconds };
}

async function readAnswer(
  response: Response,
  witness: Witness,
  { oldSize, checkpoint }: AddCheckpointRequest,
): Promise<WitnessAnswer> {
  const body = await readTextAtMost(response, maxAnswerBytes);
  if (body === null) return { kind: "failed", problem: "its answer is too long" };
  if (response.status === 200) return readCosignatures(checkpoint, witness, body);
  if (response.status === 409) {
    const isSize = response.headers.get("content-type") === "text/x.tlog.size";
    return { kind: "conflict", size: isSize ? parseDecimal(body.trimEnd()) : null };
  }
  if (response.status === 422 && oldSize > 0) return { kind: "inconsistent" };
  const advice = response.status === 403 || response.status === 404 ? unknownLog : "";
  return { kind: "failed", problem: `it answered ${response.status}${advice}` };
}

/** Never rejects: a witness that is down or talks nonsense is its own trouble. */
export async function addCheckpoint(witness: Witness, request: AddCheckpointRequest): Promise<WitnessAnswer> {
  try {
    const response = await fetch(`${witness.url}/add-checkpoint`, {
      method: "POST",
      body: encodeAddCheckpoint(request),
      headers: { "content-type": "text/plain; charset=utf-8" },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (witness.keys.some(({ type }) => type === 6)) await loadMlDsa();
    return await readAnswer(response, witness, request);
  } catch (error) {
    return { kind: "failed", problem: explainError(error) };
  }
}

export interface Witnesses {
  /** Throws if a witness has cosigned what the database does not hold; one that is silent only warns. */
  ask(): Promise<void>;
  /** Called after a commit, or to have the newest checkpoint cosigned once more. */
  schedule(): void;
  close(): Promise<void>;
}

interface Options {
  database: Database;
  policy: WitnessPolicySettings | undefined;
  logger: Logger;
  clock: () => Date;
  onCosigned: () => void;
  intervalSeconds: number;
  gatherMs?: number;
  retryMs?: number;
}

type RoundResult = "cosigned" | "failed" | "later" | { forked: string };

async function storeCosignatures(
  { db }: Database,
  head: Head,
  { name }: Witness,
  line: string,
): Promise<void> {
  await db
    .insert(logCosignatures)
    .values({ log_id: head.id, size: head.size, witness: name, line })
    .onConflictDoUpdate({
      target: [logCosignatures.log_id, logCosignatures.size, logCosignatures.witness],
      set: { renewed_line: line, renewed_at: sql`now()` },
    });
}

function describeFork(witness: Witness, head: Head, size: number): { forked: string } {
  const held = `${head.origin} at size ${head.size} (root ${hexEncode(head.root)})`;
  const ofSize = size === head.size ? "the same size" : `size ${size}`;
  const problem = size > head.size ? ofSize : `another root of ${ofSize}`;
  return {
    forked: `the database holds ${held}, but the witness ${witness.name} has cosigned ${problem}.`,
  };
}

/**
 * A cosignature is a time as well. A witness whose clock is wrong would have honest statements contradict it, so what
 * it says does not count. Times are whole seconds.
 */
function findClockProblem(timesSeconds: readonly number[], sentAt: Date, answeredAt: Date): string | null {
  const isEarly = (time: number) => time < Math.floor(sentAt.getTime() / 1000) - 1;
  const isLate = (time: number) => time > answeredAt.getTime() / 1000 + 2;
  const wrong = timesSeconds.find((time) => isEarly(time) || isLate(time));
  if (wrong === undefined) return null;
  const difference = wrong - Math.floor(answeredAt.getTime() / 1000);
  return `its clock differs from this machine's by ${difference} seconds`;
}

/** A few tries: the first from the size that we remember, the next from the one that the witness names. */
async function cosign(
  { database, logger, clock }: Options,
  witness: Witness,
  remembered: number,
): Promise<RoundResult> {
  let oldSize = remembered;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const head = await readOpenHead(database.db);
    if (oldSize > head.size) return describeFork(witness, head, oldSize);
    const proof = await proveConsistency(oldSize, head.size, tileReader(database.db, head.id));
    const sentAt = clock();
    const answer = await addCheckpoint(witness, { oldSize, proof, checkpoint: head.checkpoint });
    const problem =
      answer.kind === "cosigned" ? findClockProblem(answer.timesSeconds, sentAt, clock()) : null;
    if (answer.kind === "cosigned" && problem === null) {
      await storeCosignatures(database, head, witness, answer.lines);
      return "cosigned";
    }
    if (answer.kind === "inconsistent") return describeFork(witness, head, oldSize);
    if (answer.kind !== "conflict") {
      const why = answer.kind === "failed" ? answer.problem : problem;
      logger.warn({ witness: witness.name, problem: why }, "a witness did not cosign");
      return "failed";
    }
    const known = answer.size ?? oldSize;
    if (known === oldSize && oldSize === head.size) return describeFork(witness, head, oldSize);
    if (known === oldSize) break;
    oldSize = known;
  }
  const problem = "it answered 409 to the size that it had named";
  logger.warn({ witness: witness.name, problem }, "a witness did not cosign");
  return "failed";
}

/** Public witnesses serve many logs, and are asked by one process at a time. */
async function mayAsk({ database, intervalSeconds }: Options, { name }: Witness): Promise<boolean> {
  return intervalSeconds === 0 || takeLease(database.db, `witness ${name}`, intervalSeconds);
}

/** `isStart`: whatever the turns say, because nothing is signed before they have answered. */
async function runRound(options: Options, witness: Witness, isStart: boolean): Promise<RoundResult> {
  if (!isStart && !(await mayAsk(options, witness))) return "later";
  const { db } = options.database;
  const known = await readCosignedSizes(db, (await readOpenHead(db)).id);
  return cosign(options, witness, known.get(witness.name)?.size ?? 0);
}

/** The rounds of one witness: one that is slow holds up no other's. */
function createRounds(options: Options, witness: Witness) {
  const { logger, gatherMs = 200, retryMs = 30_000 } = options;
  let running: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isDirty = false;
  let isClosed = false;

  async function run(): Promise<void> {
    let pauseMs: number | null = null;
    try {
      const result = await runRound(options, witness, false);
      if (result === "later") pauseMs = Math.min(retryMs, 1_000 * options.intervalSeconds);
      else if (result !== "cosigned") pauseMs = retryMs;
      if (result === "cosigned") options.onCosigned();
      if (typeof result === "object")
        logger.error({ problem: result.forked }, "a witness contradicts the log");
    } catch (error) {
      pauseMs = retryMs;
      logger.warn({ err: error, witness: witness.name }, "a witness could not be asked");
    }
    running = null;
    if (isDirty) startAfter(gatherMs);
    else if (pauseMs !== null) startAfter(pauseMs);
  }

  function startAfter(delayMs: number): void {
    if (isClosed || running !== null) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      isDirty = false;
      running = run();
    }, delayMs);
    timer.unref();
  }

  return {
    askAtStart: async () => {
      const result = await runRound(options, witness, true);
      if (result === "failed") startAfter(retryMs);
      return result;
    },
    schedule: () => {
      if (!isDirty) startAfter(gatherMs);
      isDirty = true;
    },
    close: async () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

export function createWitnesses(options: Options): Witnesses {
  const all = (options.policy?.witnesses ?? []).map((witness) => createRounds(options, witness));
  return {
    ask: async () => {
      for (const result of await Promise.all(all.map(({ askAtStart }) => askAtStart())))
        if (typeof result === "object") throw new ForkGuardError(result.forked);
    },
    schedule: () => {
      for (const { schedule } of all) schedule();
    },
    close: async () => {
      await Promise.all(all.map(({ close }) => close()));
    },
  };
}
