/**
 * Whose costly work it is, and how owners are weighed against each other. Work has several owners at once
 * (organization, request, client address), because a client that takes more than a share has many of one kind and few of
 * another: one key creates many requests, one machine has many addresses.
 */
import ipaddr from "ipaddr.js";

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
  /** Address as limits count it (lib/api/http/client-ip.ts); null if none is known. */
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

export function weigh({ owners }: Share, measure: (owner: string) => number): Weight {
  return owners.map(measure).sort((a, b) => b - a);
}

/** Negative if `a` is lighter: by its heaviest owner, then by the next one; what is missing weighs nothing. */
export function compareWeights(a: Weight, b: Weight): number {
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
export function createLedger(): Ledger {
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
