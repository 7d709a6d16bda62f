/**
 * Lower bounds on time that new statements can name (lib/protocol/time/not-before.ts), refreshed in the background:
 * requests read them from memory. A bound that was not refreshed for too long is not named at all.
 */

import type { Database } from "#lib/db/client";
import { type FoundBound, keepNewestCosigned } from "#lib/log/witness/cosigned-checkpoints";
import type { Logger } from "#lib/logger";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import {
  type BeaconBound,
  type NotBefore,
  parseRound,
  quicknet,
  roundTimeMs,
} from "#lib/protocol/time/not-before";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";

/* The newest round of drand's quicknet, verified before anything is signed over it. */

const timeoutMs = 5_000;
const maxAnswerBytes = 10_000;

/** Throws if the beacon is out of reach, or its answer is no round that is over and verifies. */
async function fetchBeacon(
  url: string,
  verify: (bound: BeaconBound) => Promise<boolean>,
  clock: () => Date,
): Promise<FoundBound> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/${quicknet.chain}/public/latest`, {
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = response.ok ? await readTextAtMost(response, maxAnswerBytes) : null;
  const bound = text === null ? undefined : parseRound(text);
  if (bound === undefined) throw new Error(`the beacon answered ${response.status} without a round`);
  const atMs = roundTimeMs(bound.round);
  if (atMs > clock().getTime())
    throw new Error(`round ${bound.round} is not due yet by this machine's clock`);
  if (!(await verify(bound))) throw new Error(`the signature of round ${bound.round} does not verify`);
  return { bound, atMs };
}

export interface NotBeforeSource {
  /** Nothing is looked for before. */
  start(): void;
  /** For the predicate of a statement that is made at this time. */
  fieldAt(now: Date): { not_before?: NotBefore };
  /** Looks again soon: a checkpoint was cosigned. */
  refresh(): void;
  /** Ends the rounds; resolves when the one under way is done. */
  close(): Promise<void>;
}

interface Options {
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

export function createNotBefore(options: Options): NotBeforeSource {
  const { database, policy, drandUrl, clock, logger, intervalMs = 10_000 } = options;
  const maxAgeMs = options.maxAgeSeconds * 1000;
  let known: FoundBound | null = null;
  let running: Promise<void> | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | null = null;

  const ageOf = ({ atMs }: FoundBound, now: Date) => now.getTime() - atMs;
  const isFresh = (found: FoundBound, now: Date) => ageOf(found, now) >= 0 && ageOf(found, now) <= maxAgeMs;

  /** Never an older one than is known: a process that lags behind must not widen what is claimed. */
  function learn(found: FoundBound | null): void {
    if (found !== null && (known === null || found.atMs > known.atMs)) known = found;
  }

  async function look(): Promise<void> {
    if (policy !== undefined) learn(await keepNewestCosigned(database.db, policy, clock()));
    // An idle log has nothing new to cosign, so its newest checkpoint is cosigned once more.
    if (policy !== undefined && (known === null || ageOf(known, clock()) > maxAgeMs / 2)) options.renew();
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
    // Each look may keep another note, so there are not many more than one in an interval.
    refresh: () => {
      if (known === null || ageOf(known, clock()) > intervalMs) refresh();
    },
    close: async () => {
      isClosed = true;
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}
