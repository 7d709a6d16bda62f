/** Totals over the entries of an evidence pack. The verifier recounts them from the entries. */

import { type BackedMethod, isBacked } from "#lib/protocol/statement/statement";
import { warningCodes } from "#lib/protocol/statement/warnings";
import type { EntryState, PackEntry } from "./pack-entries";

export interface PackCounts {
  entries: number;
  attestations: Record<EntryState | "total", number>;
  /** Attestations whose content is in the pack. */
  approvals: {
    none: number;
    asserted: number;
    /** By who decided, level and environment; others than `production` are tests. */
    backed: { method: BackedMethod; level: string; environment: string; count: number }[];
  };
  decisions: Record<
    "total" | "approved" | "denied" | "cancelled" | "revoked" | "frozen" | "unfrozen" | "erased",
    number
  >;
  /** Codes in the order of lib/protocol/statement/warnings.ts, without those that don't occur. */
  warnings: { code: string; count: number }[];
}

const count = (entries: readonly PackEntry[], is: (entry: PackEntry) => boolean) => entries.filter(is).length;

function countBacked(entries: readonly PackEntry[]): PackCounts["approvals"]["backed"] {
  const found = new Map<string, PackCounts["approvals"]["backed"][number]>();
  for (const { approval } of entries) {
    if (approval === null || !isBacked(approval)) continue;
    const { method, level, environment } = approval;
    const name = JSON.stringify([environment, method, level]);
    const known = found.get(name) ?? { method, level, environment, count: 0 };
    found.set(name, { ...known, count: known.count + 1 });
  }
  return [...found.keys()].sort().flatMap((name) => found.get(name) ?? []);
}

export function countPack(entries: readonly PackEntry[]): PackCounts {
  const attestations = entries.filter(({ isDecision }) => !isDecision);
  const decisions = entries.filter(({ isDecision }) => isDecision);
  const inState = (wanted: EntryState) => count(attestations, ({ state }) => state === wanted);
  const decided = (wanted: PackEntry["decision"]) => count(decisions, ({ decision }) => decision === wanted);
  return {
    entries: entries.length,
    attestations: {
      total: attestations.length,
      public: inState("public"),
      private: inState("private"),
      withheld: inState("withheld"),
      erased: inState("erased"),
    },
    approvals: {
      none: count(attestations, ({ approval }) => approval?.method === "none"),
      asserted: count(attestations, ({ approval }) => approval?.method === "hash"),
      backed: countBacked(attestations),
    },
    decisions: {
      total: decisions.length,
      approved: decided("approved"),
      denied: decided("denied"),
      cancelled: decided("cancelled"),
      revoked: decided("authorization_revoked"),
      frozen: decided("frozen"),
      unfrozen: decided("unfrozen"),
      erased: decided(null),
    },
    warnings: warningCodes.flatMap((code) => {
      const found = count(entries, ({ warnings }) => warnings.includes(code));
      return found === 0 ? [] : { code, count: found };
    }),
  };
}
