/**
 * Costly work in few slots. Owners take turns: the next job is the one whose owners were served longest ago, so somebody
 * new goes before a flood, whichever owner the flood has in common. Approvals and everything else wait in lanes of their
 * own, which take turns too. A full lane makes room by refusing the newest job of the owner who holds most.
 */
import ipaddr from "ipaddr.js";
import { AppError } from "#lib/errors";

/** Approvals wait in a lane of their own, which nothing else can fill. */
export type Lane = "approval" | "other";

/**
 * Owners are several at once (organization, request, client address): a flood has many of one kind and few of another, as
 * one key creates many requests, and one machine has many addresses.
 */
export interface Share {
  lane: Lane;
  owners: readonly string[];
}

export interface Owner {
  organization?: string;
  request?: string;
  /** Address as limits count it (lib/api/http/rate-limit.ts); null if none is known. */
  client?: string | null;
}

/** The holder of an IPv6 /64 often has the /48 around it. */
function findNetwork(client: string): string | undefined {
  if (!client.endsWith("/64")) return undefined;
  return `${ipaddr.IPv6.networkAddressFromCIDR(client.replace("/64", "/48")).toString()}/48`;
}

export function createShare(lane: Lane, { organization, request, client }: Owner): Share {
  const network = client ? findNetwork(client) : undefined;
  const owners = [
    ...(organization === undefined ? [] : [`organization ${organization}`]),
    ...(request === undefined ? [] : [`request ${request}`]),
    ...(client ? [`client ${client}`] : []),
    ...(network === undefined ? [] : [`network ${network}`]),
  ];
  return { lane, owners };
}

export interface FairQueueOptions {
  slots: number;
  maxWaiting: number;
  maxPerOwner: number;
  maxRunningPerOwner?: number;
  refusal: string;
}

export interface FairQueue {
  /** Rejects with `service_unavailable` if there is no place. */
  run<T>(share: Share, work: () => Promise<T>): Promise<T>;
  load(): Load;
  drain(): Promise<void>;
}

export interface Load {
  running: number;
  waiting: number;
}

interface Job extends Share {
  start(): void;
  refuse(): void;
  ended: Promise<unknown>;
}

const weigh = ({ owners }: Share, measure: (owner: string) => number) =>
  owners.map(measure).sort((a, b) => b - a);

/** Negative if `a` is lighter: by its heaviest owner, then by the next one. */
function compareWeights(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((weight, i) => weight !== b[i]);
  return at < 0 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? 0);
}

/** The lightest job (-1) or the heaviest (1), the first of equal ones. */
function choose(jobs: readonly Job[], measure: (owner: string) => number, side: 1 | -1) {
  let best: { job: Job; weight: number[] } | undefined;
  for (const job of jobs) {
    const weight = weigh(job, measure);
    if (best === undefined || side * compareWeights(weight, best.weight) > 0) best = { job, weight };
  }
  return best;
}

function countByOwner(jobs: Iterable<Share>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { owners } of jobs) for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

/** An owner that was not served for so many turns counts as new. */
const memory = 1_000;

function createTurns() {
  const lastTurn = new Map<string, number>();
  let turn = 0;
  return {
    lastOf: (owner: string) => lastTurn.get(owner) ?? 0,
    note: ({ owners }: Share) => {
      turn += 1;
      for (const owner of owners) {
        lastTurn.delete(owner);
        lastTurn.set(owner, turn);
      }
      for (const [owner, last] of lastTurn) {
        if (last > turn - memory) break;
        lastTurn.delete(owner);
      }
    },
  };
}

function createLane(options: FairQueueOptions) {
  const { maxWaiting, maxPerOwner, maxRunningPerOwner = options.slots } = options;
  const turns = createTurns();
  const waiting: Job[] = [];
  const running = new Set<Job>();
  const leave = (job: Job) => waiting.splice(waiting.indexOf(job), 1);

  function mayRun({ owners }: Share, counts = countByOwner(running)): boolean {
    return owners.every((owner) => (counts.get(owner) ?? 0) < maxRunningPerOwner);
  }

  /** Jobs that give way to the newcomer; null if it gets no place. */
  function findVictims(newcomer: Share, runsAtOnce: boolean): Job[] | null {
    const victims: Job[] = [];
    const held = countByOwner([...waiting, ...running, newcomer]);
    const measure = (owner: string) => held.get(owner) ?? 0;
    const give = (isRival: (job: Job) => boolean): boolean => {
      const rivals = waiting.filter((job) => !victims.includes(job) && isRival(job)).reverse();
      const victim = choose(rivals, measure, 1);
      if (victim === undefined || compareWeights(weigh(newcomer, measure), victim.weight) >= 0) return false;
      victims.push(victim.job);
      return true;
    };
    for (const owner of newcomer.owners) {
      const given = victims.filter(({ owners }) => owners.includes(owner)).length;
      if (measure(owner) - given > maxPerOwner && !give(({ owners }) => owners.includes(owner))) return null;
    }
    const isFull = !runsAtOnce && waiting.length - victims.length >= maxWaiting;
    return isFull && !give(() => true) ? null : victims;
  }

  return {
    waiting,
    running,
    mayRun,
    /** False if its owners have all that they may have, or the lane is full of lighter ones. */
    admit(newcomer: Share, runsAtOnce: boolean): boolean {
      const victims = findVictims(newcomer, runsAtOnce);
      for (const victim of victims ?? []) {
        leave(victim);
        victim.refuse();
      }
      return victims !== null;
    },
    take(): Job | undefined {
      const counts = countByOwner(running);
      const ready = waiting.filter((job) => mayRun(job, counts));
      const next = choose(ready, turns.lastOf, -1)?.job;
      if (next === undefined) return undefined;
      leave(next);
      turns.note(next);
      running.add(next);
      return next;
    },
  };
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const lanes = { approval: createLane(options), other: createLane(options) };
  let turn: Lane = "approval";
  const isFree = () => lanes.approval.running.size + lanes.other.running.size < options.slots;

  function takeNext(): Job | undefined {
    const second: Lane = turn === "approval" ? "other" : "approval";
    const job = lanes[turn].take() ?? lanes[second].take();
    if (job !== undefined) turn = job.lane === "approval" ? "other" : "approval";
    return job;
  }

  function fill(): void {
    while (isFree()) {
      const job = takeNext();
      if (job === undefined) return;
      job.start();
    }
  }

  const busy = () =>
    new AppError("service_unavailable", options.refusal, { headers: { "retry-after": "2" } });

  return {
    async run<T>(share: Share, work: () => Promise<T>): Promise<T> {
      const lane = lanes[share.lane];
      if (!lane.admit(share, isFree() && lane.mayRun(share))) throw busy();
      return new Promise<T>((resolve, reject) => {
        const job: Job = {
          ...share,
          ended: Promise.resolve(),
          refuse: () => reject(busy()),
          start: () => {
            job.ended = work()
              .then(resolve, reject)
              .finally(() => {
                lane.running.delete(job);
                fill();
              });
          },
        };
        lane.waiting.push(job);
        fill();
      });
    },
    load: () => ({
      running: lanes.approval.running.size + lanes.other.running.size,
      waiting: lanes.approval.waiting.length + lanes.other.waiting.length,
    }),
    async drain() {
      for (;;) {
        const [one] = [...lanes.approval.running, ...lanes.other.running];
        if (one === undefined) return;
        await one.ended;
      }
    },
  };
}
