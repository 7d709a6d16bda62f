/**
 * Costly work in few slots, shared between its owners (./fair-queue.ts). What runs next is the work whose most-served
 * owner has had least, so that somebody new goes before a flood, whichever owner the flood has in common. Approvals
 * and everything else wait in lanes of their own and run by turns if both wait. A full lane makes room for
 * lighter owners by refusing the heaviest one's newest work.
 */
import ipaddr from "ipaddr.js";
import { AppError } from "#lib/errors";

/*
 * Whose costly work it is, and how owners are weighed against each other. Work has several owners at once
 * (organization, request, client address), because a client that takes more than a share has many of one kind and few of
 * another: one key creates many requests, one machine has many addresses.
 */

/** Approvals wait in a lane of their own, which nothing else can fill. */
export type Lane = "approval" | "other";

export interface Share {
  lane: Lane;
  /** Names that are equal for equal owners. */
  owners: readonly string[];
}

export interface Owner {
  organization?: string;
  request?: string;
  /** Address as limits count it (lib/api/http/rate-limit.ts); null if none is known. */
  client?: string | null;
}

/** The holder of an IPv6 /64 often has the /48 around it. */
function networkOf(client: string): string | undefined {
  if (!client.endsWith("/64")) return undefined;
  return `${ipaddr.IPv6.networkAddressFromCIDR(client.replace("/64", "/48")).toString()}/48`;
}

export function shareOf(lane: Lane, { organization, request, client }: Owner): Share {
  const network = client ? networkOf(client) : undefined;
  const owners = [
    ...(organization === undefined ? [] : [`organization ${organization}`]),
    ...(request === undefined ? [] : [`request ${request}`]),
    ...(client ? [`client ${client}`] : []),
    ...(network === undefined ? [] : [`network ${network}`]),
  ];
  return { lane, owners };
}

/** Weights of the owners, heaviest first. */
export type Weight = readonly number[];

function weigh({ owners }: Share, measure: (owner: string) => number): Weight {
  return owners.map(measure).sort((a, b) => b - a);
}

/** Negative if `a` is lighter: by its heaviest owner, then by the next one; what is missing weighs nothing. */
function compareWeights(a: Weight, b: Weight): number {
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** So many pieces of work later, what an owner has had counts half. */
const halfLife = 64;

export interface Ledger {
  servedOf(owner: string): number;
  charge(share: Share): void;
}

/** Counts served work by owner, the most recent weighing most. */
function createLedger(): Ledger {
  const served = new Map<string, number>();
  let sinceHalved = 0;
  const halve = () => {
    for (const [owner, count] of served) {
      if (count === 1) served.delete(owner);
      else served.set(owner, Math.floor(count / 2));
    }
  };
  return {
    servedOf: (owner) => served.get(owner) ?? 0,
    charge: ({ owners }) => {
      for (const owner of owners) served.set(owner, (served.get(owner) ?? 0) + 1);
      sinceHalved = (sinceHalved + 1) % halfLife;
      if (sinceHalved === 0) halve();
    },
  };
}

export interface FairQueueOptions {
  /** How much runs at once. */
  slots: number;
  /** How much may wait, in each lane. */
  maxWaiting: number;
  /** How much of one owner may wait or run, in each lane. */
  maxPerOwner: number;
  /** How much of one owner may run at once, in each lane; default: all slots. */
  maxRunningPerOwner?: number;
  /** Message to a rejected caller. */
  refusal: string;
}

export interface FairQueue {
  /** Rejects with `service_unavailable` if there is no place. */
  run<T>(share: Share, work: () => Promise<T>): Promise<T>;
  load(): Load;
  /** Resolves when all that was accepted has ended. */
  drain(): Promise<void>;
}

/** How much work there is at this moment. */
export interface Load {
  running: number;
  waiting: number;
}

interface Job extends Share {
  start(): void;
  refuse(): void;
  ended: Promise<unknown>;
}

/** How many of the jobs that were added and not removed an owner has. */
function createCounter() {
  const counts = new Map<string, number>();
  const change = (by: number) => (share: Share) => {
    for (const owner of share.owners) {
      const count = (counts.get(owner) ?? 0) + by;
      if (count === 0) counts.delete(owner);
      else counts.set(owner, count);
    }
  };
  return { of: (owner: string) => counts.get(owner) ?? 0, add: change(1), remove: change(-1) };
}

/** The first one that `isBetter` than all before it. */
function choose(
  jobs: readonly Job[],
  weightOf: (job: Job) => Weight,
  isBetter: (difference: number) => boolean,
): { job: Job; weight: Weight } | undefined {
  let best: { job: Job; weight: Weight } | undefined;
  for (const job of jobs) {
    const weight = weightOf(job);
    if (best === undefined || isBetter(compareWeights(weight, best.weight))) best = { job, weight };
  }
  return best;
}

function createLane(options: FairQueueOptions) {
  const { maxWaiting, maxPerOwner, maxRunningPerOwner = options.slots } = options;
  const ledger = createLedger();
  /** In the order in which they came. */
  const waiting: Job[] = [];
  const running = new Set<Job>();
  /** Waiting and running jobs by owner. */
  const held = createCounter();
  const inSlots = createCounter();
  const leave = (job: Job) => waiting.splice(waiting.indexOf(job), 1);
  const mayRun = ({ owners }: Share) => owners.every((owner) => inSlots.of(owner) < maxRunningPerOwner);

  /** The job that gives way to the newcomer; undefined if none is heavier. */
  function findVictim(newcomer: Share, rivals: readonly Job[]): Job | undefined {
    const measure = (owner: string) =>
      ledger.servedOf(owner) + held.of(owner) + (newcomer.owners.includes(owner) ? 1 : 0);
    const heaviest = choose(
      rivals,
      (job) => weigh(job, measure),
      (difference) => difference >= 0,
    );
    const isHeavier = heaviest && compareWeights(weigh(newcomer, measure), heaviest.weight) < 0;
    return isHeavier ? heaviest.job : undefined;
  }

  /** Those that give way to the newcomer; undefined if it gets no place. */
  function findVictims(newcomer: Share, runsAtOnce: boolean): Job[] | undefined {
    const victims: Job[] = [];
    for (const owner of newcomer.owners) {
      const given = victims.filter(({ owners }) => owners.includes(owner)).length;
      if (held.of(owner) - given < maxPerOwner) continue;
      const rivals = waiting.filter((job) => job.owners.includes(owner) && !victims.includes(job));
      const victim = findVictim(newcomer, rivals);
      if (victim === undefined) return undefined;
      victims.push(victim);
    }
    if (runsAtOnce || waiting.length - victims.length < maxWaiting) return victims;
    const victim = findVictim(
      newcomer,
      waiting.filter((job) => !victims.includes(job)),
    );
    return victim && [...victims, victim];
  }

  return {
    running,
    mayRun,
    countWaiting: () => waiting.length,
    finish: (job: Job) => {
      running.delete(job);
      held.remove(job);
      inSlots.remove(job);
    },
    /** False if its owners have all that they may have, or the lane is full of lighter ones. */
    admit(newcomer: Share, runsAtOnce: boolean): boolean {
      const victims = findVictims(newcomer, runsAtOnce);
      for (const victim of victims ?? []) {
        leave(victim);
        held.remove(victim);
        victim.refuse();
      }
      return victims !== undefined;
    },
    add: (job: Job) => {
      waiting.push(job);
      held.add(job);
    },
    /** Takes the next one that may run from those that wait. */
    take(): Job | undefined {
      const next = choose(
        waiting.filter(mayRun),
        (job) => weigh(job, ledger.servedOf),
        (difference) => difference < 0,
      )?.job;
      if (next === undefined) return undefined;
      leave(next);
      ledger.charge(next);
      running.add(next);
      inSlots.add(next);
      return next;
    },
  };
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const lanes = { approval: createLane(options), other: createLane(options) };
  let turn: Lane = "approval";
  const isFree = () => lanes.approval.running.size + lanes.other.running.size < options.slots;

  /** The lane whose turn it is goes first. */
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
                lane.finish(job);
                fill();
              });
          },
        };
        lane.add(job);
        fill();
      });
    },
    load: () => ({
      running: lanes.approval.running.size + lanes.other.running.size,
      waiting: lanes.approval.countWaiting() + lanes.other.countWaiting(),
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
