/** Acknowledgements of the service, as its clients heard them: all of it must be there in the end. */
import type { KeptReceipt } from "#support/load";

/** An attestation that was sent once or, under one key or one authorization, several times. */
export interface Sent {
  action: string;
  /** Ids in answers of 201; more than one is a doubled record. */
  acknowledged: Set<string>;
  authorizationId: string | null;
  /** It may be sent again under its key, which an erasure would make new. */
  isOpen: boolean;
}

export type Decision = "approved" | "denied" | "cancelled";

export interface Ledger {
  receipts: KeptReceipt[];
  sent: Sent[];
  authorizations: Set<string>;
  /** A set of two is a request that was decided twice. */
  decisions: Map<string, Set<Decision>>;
  /** Asked to be erased, and answered that they are. */
  erasing: Set<string>;
  erased: Set<string>;
  /** Signed notes that anyone was shown. */
  checkpoints: Set<string>;
  operations: number;
  /** Answers of 503 and broken connections: what was asked may or may not have happened. */
  unknown: number;
  /** Answers that no fault explains, in words. */
  unexpected: string[];
  longestAnswerMs: number;
  /** Without any operation answered as it should be, and the faults of that time. */
  longestOutage: { ms: number; faults: readonly string[] };
  /** How long a key was answered 409 and nothing else: to its client that is an outage too. */
  longestConflictMs: number;
  noteConflict(key: string, saysWhen: boolean): void;
  endConflict(key: string): void;
  noteFault(name: string): void;
  acknowledged(): number;
  /** One operation was answered as it should be. */
  acknowledge(): void;
  /** Resolves when so many more have been acknowledged; rejects if the service does not come back. */
  reach(more: number): Promise<void>;
}

const patienceMs = 180_000;
/** A lease of six seconds, and what a busy machine adds. */
const conflictLimitMs = 15_000;

export function createLedger(now: () => number): Ledger {
  let count = 0;
  let lastMs = now();
  let faults: string[] = [];
  const conflictSinceMs = new Map<string, number>();
  const ledger: Ledger = {
    receipts: [],
    sent: [],
    authorizations: new Set(),
    decisions: new Map(),
    erasing: new Set(),
    erased: new Set(),
    checkpoints: new Set(),
    operations: 0,
    unknown: 0,
    unexpected: [],
    longestAnswerMs: 0,
    longestOutage: { ms: 0, faults: [] },
    longestConflictMs: 0,
    noteConflict: (key, saysWhen) => {
      const sinceMs = conflictSinceMs.get(key) ?? now();
      conflictSinceMs.set(key, sinceMs);
      const ms = now() - sinceMs;
      if (ms > conflictLimitMs && ledger.longestConflictMs <= conflictLimitMs)
        ledger.unexpected.push(`${key} has been answered 409 for ${Math.round(ms)} ms`);
      if (!saysWhen) ledger.unexpected.push(`${key} was answered 409 without Retry-After`);
      ledger.longestConflictMs = Math.max(ledger.longestConflictMs, ms);
    },
    endConflict: (key) => conflictSinceMs.delete(key),
    noteFault: (name) => faults.push(name),
    acknowledged: () => count,
    acknowledge: () => {
      count += 1;
      const ms = now() - lastMs;
      if (ms > ledger.longestOutage.ms) ledger.longestOutage = { ms, faults };
      // The latest fault may still be going on when an earlier answer comes.
      faults = faults.slice(-1);
      lastMs = now();
    },
    reach: async (more) => {
      const wanted = count + more;
      for (const startedMs = now(); count < wanted; ) {
        if (now() - startedMs > patienceMs) throw new Error("the service did not come back in three minutes");
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
  return ledger;
}
