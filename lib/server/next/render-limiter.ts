/**
 * Pages give way. Next renders tens of milliseconds at a stretch, on the thread that answers the API too unless pages
 * have a process of their own, so pages get a share of its time: half for all together, a quarter for one address,
 * which has one page under way at once. An occasional visitor never notices, because unused time is saved up. A flood
 * waits: each address has a line of its own, and addresses take turns.
 */
import { performance } from "node:perf_hooks";
import { AppError } from "#lib/errors";

interface Share {
  readonly part: number;
  readonly atOnceMs: number;
}

export interface GateOptions {
  readonly perAddress?: Share;
  readonly maxActive?: number;
  readonly maxWaiting?: number;
  readonly maxWaitingPerAddress?: number;
  readonly nowMs?: () => number;
  /** Grows by the time that the thread has worked. */
  readonly workedMs?: () => number;
}

interface Client {
  once(event: "close", listener: () => void): unknown;
  readonly destroyed: boolean;
}

export interface RenderQueue {
  /** Runs `work` when it is the address's turn, or never if the client goes before that; 429 or 503 when lines are full. */
  run(address: string, client: Client, work: () => Promise<void>): Promise<void>;
}

/** A page that waits for the database or for a slow reader makes room after this time. */
const maxHoldMs = 1_000;
const maxPriceMs = 500;
const maxLanes = 10_000;

function createAllowance({ part, atOnceMs }: Share, nowMs: () => number) {
  let leftMs = atOnceMs;
  let atMs = nowMs();
  const refill = () => {
    const now = nowMs();
    leftMs = Math.min(atOnceMs, leftMs + (now - atMs) * part);
    atMs = now;
  };
  return {
    spend(ms: number) {
      refill();
      leftMs -= Math.min(ms, maxPriceMs);
    },
    waitMs() {
      refill();
      return leftMs > 0 ? 0 : 1 - leftMs / part;
    },
  };
}

type Allowance = ReturnType<typeof createAllowance>;
interface Lane {
  readonly allowance: Allowance;
  readonly waiting: (() => void)[];
  isActive: boolean;
}

function busy(isOneAddress: boolean): AppError {
  const headers = { "retry-after": "2" };
  if (isOneAddress)
    return new AppError("rate_limit_exceeded", "too many requests at once; wait for some responses", {
      headers,
    });
  return new AppError("service_unavailable", "too many pages are being rendered right now", { headers });
}

export function createRenderQueue(options: GateOptions = {}): RenderQueue {
  const { perAddress = { part: 1 / 4, atOnceMs: 1_000 }, maxActive = 4 } = options;
  const { maxWaiting = 256, maxWaitingPerAddress = 64, nowMs = () => performance.now() } = options;
  const { workedMs = () => performance.eventLoopUtilization().active } = options;
  const all = createAllowance({ part: 1 / 2, atOnceMs: 2_000 }, nowMs);
  const lanes = new Map<string, Lane>();
  const turns: Lane[] = [];
  let active = 0;
  /** Cost of one page from the beginning until now: those under way share the thread's time evenly. */
  let costMs = 0;
  let countedMs = workedMs();
  let timer: NodeJS.Timeout | undefined;

  function openLane(address: string): Lane {
    const lane = lanes.get(address) ?? {
      allowance: createAllowance(perAddress, nowMs),
      waiting: [],
      isActive: false,
    };
    lanes.delete(address);
    lanes.set(address, lane);
    if (lanes.size > maxLanes) lanes.delete(lanes.keys().next().value ?? "");
    return lane;
  }

  /** Called before the number of pages under way changes, and to learn a price. */
  function countCost(): number {
    const now = workedMs();
    costMs += (now - countedMs) / Math.max(1, active);
    countedMs = now;
    return costMs;
  }

  function advance(): void {
    clearTimeout(timer);
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const lane of [...turns]) {
      if (active >= maxActive) return;
      if (lane.isActive) continue;
      const waitMs = Math.max(all.waitMs(), lane.allowance.waitMs());
      soonestMs = Math.min(soonestMs, waitMs || soonestMs);
      if (waitMs === 0) begin(lane);
    }
    if (soonestMs < Number.POSITIVE_INFINITY) timer = setTimeout(advance, soonestMs).unref();
  }

  function begin(lane: Lane): void {
    const start = lane.waiting.shift();
    turns.splice(turns.indexOf(lane), 1);
    if (lane.waiting.length > 0) turns.push(lane);
    lane.isActive = true;
    countCost();
    active += 1;
    start?.();
  }

  function leave(lane: Lane, priceMs: number): void {
    lane.isActive = false;
    active -= 1;
    lane.allowance.spend(priceMs);
    all.spend(priceMs);
    advance();
  }

  function forget(lane: Lane, start: () => void): void {
    const place = lane.waiting.indexOf(start);
    if (place < 0) return;
    lane.waiting.splice(place, 1);
    if (lane.waiting.length === 0) turns.splice(turns.indexOf(lane), 1);
  }

  async function hold(lane: Lane, work: () => Promise<void>): Promise<void> {
    const beganMs = costMs;
    let isHeld = true;
    const release = () => {
      if (isHeld) leave(lane, countCost() - beganMs);
      isHeld = false;
    };
    const limit = setTimeout(release, maxHoldMs);
    try {
      await work();
    } finally {
      clearTimeout(limit);
      release();
    }
  }

  return {
    run(address, client, work) {
      const lane = openLane(address);
      if (lane.waiting.length >= maxWaitingPerAddress) return Promise.reject(busy(true));
      const waiting = turns.reduce((sum, one) => sum + one.waiting.length, 0);
      if (waiting >= maxWaiting) return Promise.reject(busy(false));
      return new Promise((resolve, reject) => {
        const start = () => void hold(lane, work).then(resolve, reject);
        client.once("close", () => {
          forget(lane, start);
          resolve();
        });
        if (client.destroyed) return resolve();
        if (lane.waiting.push(start) === 1) turns.push(lane);
        advance();
      });
    },
  };
}
