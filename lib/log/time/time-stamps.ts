/**
 * Has the log's newest checkpoint stamped by time-stamp authorities (RFC 3161) every quarter of an hour, or after 10,000
 * leaves, in the background. One stamp covers every leaf below its size. What an authority does wrong costs a stamp and
 * nothing else.
 */
import { and, eq, max } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { logTimestamps } from "#lib/db/schema";
import { oneAtATime, releaseLease, startInterval, takeLease } from "#lib/jobs/due-work";
import { readOpenHead, selectTiles } from "#lib/log/reading/reader";
import type { Head } from "#lib/log/sequencer/append";
import { type FoundBound, keepNewestCosigned } from "#lib/log/witness/cosigned-checkpoints";
import type { Logger } from "#lib/logger";
import { base64Decode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { Certificate } from "#lib/protocol/encoding/certificate";
import { readAtMost, readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { parseRound, quicknet, roundTimeMs } from "#lib/protocol/time/not-before";
import type { BeaconBound, NotBefore } from "#lib/protocol/time/not-before-shape";
import { encodeTimeStampRequest, NONCE_BYTES, toNonce, verifyTimeStamp } from "#lib/protocol/time/time-stamp";
import { addNoteSignatures, parseNote, parseSignatureLines } from "#lib/protocol/tlog/checkpoint";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";

export interface TimeStamps {
  start(): void;
  close(): Promise<void>;
}

interface Options {
  database: Database;
  urls: readonly string[];
  /** Roots to which a kept stamp must lead. */
  pinned: readonly Certificate[];
  clock: () => Date;
  random: (length: number) => Uint8Array;
  logger: Logger;
  lookMs?: number;
  everySeconds?: number;
}

const timeoutMs = 10_000;
/** Longer than a request may take. */
const turnSeconds = 60;
const maxAnswerBytes = 100_000;

async function fetchStamp(url: string, request: Uint8Array): Promise<Uint8Array> {
  const response = await fetch(url, {
    method: "POST",
    body: request as Uint8Array<ArrayBuffer>,
    headers: { "content-type": "application/timestamp-query", accept: "application/timestamp-reply" },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  const bytes = response.ok ? await readAtMost(response.body, maxAnswerBytes) : null;
  if (bytes === null) throw new Error(`it answered ${response.status}, or too much`);
  return bytes;
}

/** Throws unless the answer is a stamp over this text, to this request, at this time, by a pinned authority. */
async function stamp({ pinned, clock, random }: Options, url: string, text: Uint8Array) {
  const nonce = random(NONCE_BYTES);
  const sentAt = clock();
  const response = await fetchStamp(url, encodeTimeStampRequest(sha256(text), nonce));
  const verdict = await verifyTimeStamp(response, text, pinned);
  if (!verdict.ok) throw new Error(`its stamp does not count: ${verdict.problem}`);
  if (verdict.nonce !== hexEncode(toNonce(nonce))) throw new Error("its stamp answers another request");
  // Times may be whole seconds. One from before the request would contradict honest statements.
  const isEarly = verdict.timeMs < Math.floor(sentAt.getTime() / 1000) * 1000 - 1_000;
  if (isEarly || verdict.timeMs > clock().getTime() + 5_000)
    throw new Error(`its clock says ${new Date(verdict.timeMs).toISOString()}`);
  return { response, stampedAt: new Date(verdict.timeMs) };
}

async function isDue({ database, clock, ...options }: Options, url: string, head: Head): Promise<boolean> {
  const { everySeconds = 900 } = options;
  const [last] = await database.db
    .select({ size: max(logTimestamps.size), at: max(logTimestamps.created_at) })
    .from(logTimestamps)
    .where(and(eq(logTimestamps.log_id, head.id), eq(logTimestamps.tsa, url)));
  if (!last || last.size === null || last.at === null) return true;
  const ageSeconds = (clock().getTime() - last.at.getTime()) / 1000;
  return head.size > last.size && (ageSeconds >= everySeconds || head.size - last.size >= 10_000);
}

/** Looked at again once it is this process's turn: another one may have just had its own. */
async function stampIfDue(options: Options, url: string): Promise<void> {
  const { db } = options.database;
  if (!(await isDue(options, url, await readOpenHead(db)))) return;
  const turn = `tsa ${url}`;
  if (!(await takeLease(db, turn, turnSeconds))) return;
  const head = await readOpenHead(db);
  if (!(await isDue(options, url, head))) return releaseLease(db, turn, true);
  try {
    const text = utf8Encode(parseNote(head.checkpoint).text);
    const { response, stampedAt } = await stamp(options, url, text);
    const row = { log_id: head.id, size: head.size, tsa: url, response, stamped_at: stampedAt };
    await db.insert(logTimestamps).values(row).onConflictDoNothing();
    await releaseLease(db, turn, true);
  } catch (error) {
    options.logger.warn({ err: error, tsa: url }, "a time-stamp authority did not stamp the log");
    await releaseLease(db, turn, false);
  }
}

export function createTimeStamps(options: Options): TimeStamps {
  const { urls, logger, lookMs = 20_000 } = options;
  const look = oneAtATime(() => Promise.all(urls.map((url) => stampIfDue(options, url))));
  let end = async () => {};
  return {
    start: () => {
      if (urls.length === 0) return;
      const warn = (error: unknown) => logger.warn({ err: error }, "no time stamp could be asked for");
      end = startInterval(lookMs, look, warn, true);
    },
    close: () => end(),
  };
}

/*
 * Anchors of a leaf: checkpoints that cover it and that somebody outside has cosigned or stamped, each witness's and each
 * authority's first one after the leaf. They bound the time before which it was made.
 */

/** Row of {@link selectAnchors}. */
interface StoredAnchor {
  size: number;
  note: string;
  lines: string | null;
  stamps: { tsa: string; response: string }[] | null;
  tiles: string | null;
}

/** Rows of this many sizes are looked at. A witness that has none among them was silent for long. */
const maxCosignatures = 32;
const maxStamps = 8;

/** SQL of one JSON column, null if there is no anchor. `witnesses`: names whose cosignatures count, or NULL. */
export function selectAnchors(logId: string, index: string, witnesses: string): string {
  return `SELECT json_agg(json_build_object('size', k.size, 'note', k.note, 'lines', shown.lines, 'stamps', stamped.stamps,
      'tiles', proof.tiles) ORDER BY k.size) AS anchors
    FROM (
      SELECT DISTINCT size FROM (
        SELECT min(size) AS size FROM (
          SELECT s.witness, s.size FROM log_cosignatures s
          WHERE ${witnesses}::text[] IS NOT NULL AND s.log_id = ${logId} AND s.size > ${index} AND s.witness = ANY(${witnesses}::text[])
          ORDER BY s.size LIMIT ${maxCosignatures}
        ) AS cosigned GROUP BY witness
        UNION ALL
        SELECT min(size) FROM (
          SELECT t.tsa, t.size FROM log_timestamps t WHERE t.log_id = ${logId} AND t.size > ${index}
          ORDER BY t.size LIMIT ${maxStamps}
        ) AS stamped GROUP BY tsa
      ) AS sizes
    ) AS first
    JOIN log_checkpoints k ON k.log_id = ${logId} AND k.size = first.size
    LEFT JOIN LATERAL (
      SELECT string_agg(s.line, '' ORDER BY s.witness) AS lines FROM log_cosignatures s
      WHERE s.log_id = ${logId} AND s.size = first.size AND s.witness = ANY(${witnesses}::text[])
    ) AS shown ON true
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object('tsa', t.tsa, 'response', encode(t.response, 'base64')) ORDER BY t.tsa) AS stamps
      FROM log_timestamps t WHERE t.log_id = ${logId} AND t.size = first.size
    ) AS stamped ON true
    LEFT JOIN LATERAL (${selectTiles(logId, index, "first.size")}) proof ON true`;
}

export interface Anchor {
  size: number;
  checkpoint: string;
  stamps: { tsa: string; response: Uint8Array }[];
  /** Read by {@link proveStored}. */
  tiles: string | null;
}

/** The column of {@link selectAnchors}, which drivers give parsed or as text. */
export function readAnchors(column: unknown): Anchor[] {
  const parsed: unknown = typeof column === "string" ? JSON.parse(column) : column;
  return ((parsed ?? []) as StoredAnchor[]).map(({ size, note, lines, stamps, tiles }) => ({
    size,
    checkpoint: lines === null ? note : addNoteSignatures(note, parseSignatureLines(lines)),
    stamps: (stamps ?? []).map(({ tsa, response }) => ({
      tsa,
      response: base64Decode(response.replaceAll("\n", "")),
    })),
    tiles,
  }));
}

/*
 * Lower bounds on time that new statements can name (lib/protocol/time/not-before.ts), refreshed in the background:
 * requests read them from memory. A bound that was not refreshed for too long is not named at all.
 */

/* The newest round of drand's quicknet, verified before anything is signed over it. */

const beaconTimeoutMs = 5_000;
const maxBeaconBytes = 10_000;

/** Throws if the beacon is out of reach, or its answer is no round that is over and verifies. */
async function fetchBeacon(
  url: string,
  verify: (bound: BeaconBound) => Promise<boolean>,
  clock: () => Date,
): Promise<FoundBound> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/${quicknet.chain}/public/latest`, {
    redirect: "error",
    signal: AbortSignal.timeout(beaconTimeoutMs),
  });
  const text = response.ok ? await readTextAtMost(response, maxBeaconBytes) : null;
  const bound = text === null ? undefined : parseRound(text);
  if (bound === undefined) throw new Error(`the beacon answered ${response.status} without a round`);
  const atMs = roundTimeMs(bound.round);
  if (atMs > clock().getTime())
    throw new Error(`round ${bound.round} is not due yet by this machine's clock`);
  if (!(await verify(bound))) throw new Error(`the signature of round ${bound.round} does not verify`);
  return { bound, atMs };
}

export interface NotBeforeSource {
  start(): void;
  fieldAt(now: Date): { not_before?: NotBefore };
  /** Looks again soon: a checkpoint was cosigned. */
  refresh(): void;
  close(): Promise<void>;
}

interface BeaconOptions {
  database: Database;
  policy: WitnessPolicySettings | undefined;
  drandUrl: string | undefined;
  maxAgeSeconds: number;
  clock: () => Date;
  logger: Logger;
  verifyBeacon: (bound: BeaconBound) => Promise<boolean>;
  /** Asks the witnesses again; they may have nothing new to cosign. */
  renew: () => void;
  intervalMs?: number;
}

export function createNotBefore(options: BeaconOptions): NotBeforeSource {
  const { database, policy, drandUrl, clock, logger, intervalMs = 10_000 } = options;
  const maxAgeMs = options.maxAgeSeconds * 1000;
  let known: FoundBound | null = null;
  let running: Promise<void> | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | null = null;

  const measureAge = ({ atMs }: FoundBound, now: Date) => now.getTime() - atMs;
  const isFresh = (found: FoundBound, now: Date) =>
    measureAge(found, now) >= 0 && measureAge(found, now) <= maxAgeMs;

  /** Never an older one than is known: a process that lags behind must not widen what is claimed. */
  function learn(found: FoundBound | null): void {
    if (found !== null && (known === null || found.atMs > known.atMs)) known = found;
  }

  async function look(): Promise<void> {
    if (policy !== undefined) learn(await keepNewestCosigned(database.db, policy, clock()));
    // An idle log has nothing new to cosign, so its newest checkpoint is cosigned once more.
    if (policy !== undefined && (known === null || measureAge(known, clock()) > maxAgeMs / 2))
      options.renew();
    const hasWitnessed = known?.bound.type === "tlog-cosignature" && isFresh(known, clock());
    if (drandUrl !== undefined && !hasWitnessed)
      learn(await fetchBeacon(drandUrl, options.verifyBeacon, clock));
  }

  function refresh(): void {
    if (isClosed || running !== null) return;
    running = look()
      .catch((error: unknown) => logger.warn({ err: error }, "no newer lower bound of time was found"))
      .finally(() => {
        running = null;
      });
  }

  return {
    start: () => {
      if (policy === undefined && drandUrl === undefined) return;
      timer = setInterval(refresh, intervalMs);
      timer.unref();
      refresh();
    },
    fieldAt: (now) => (known !== null && isFresh(known, now) ? { not_before: known.bound } : {}),
    // Throttled: each call may store another note, so there are few more than one in an interval.
    refresh: () => {
      if (known === null || measureAge(known, clock()) > intervalMs) refresh();
    },
    close: async () => {
      isClosed = true;
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}
