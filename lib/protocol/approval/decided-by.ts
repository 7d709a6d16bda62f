/** Deciders, permitted and actual: groups of people, a standing approval that people gave before, or a rule. */

export type RequiredApprovers = {
  /** The group's id; its name is among what the page shows and the object hides. */
  group: string;
  count: number;
};

/** The terms of a standing approval, frozen when people give it. At least one of tools and actions. */
export type GrantTerms = {
  tools?: string[];
  /** Exact, or a prefix that ends in `*`. */
  actions?: string[];
  max_calls: number;
  /** Limit for each use. Amounts are in the one `currency`. */
  max_amount?: string;
  max_budget?: string;
  currency?: string;
  expires_at: string;
  /** Fields that a covered request's context must have, with these values. */
  context?: Record<string, string>;
  /** Makes it version 2. */
  derived?: DerivedTerms;
};

/** If the organization's own decisions suggested it (lib/protocol/policy/suggest.ts). */
type DerivedTerms = {
  /** Hash of what it rests on. */
  derivation: string;
  /** Sorted: a covered request has exactly these, and they are all of what is done. */
  details: string[];
  /** Hours in which it may be made, UTC, both included. */
  hours: { from: number; to: number };
};

export interface DecidedByGrant {
  kind: "grant";
  /** Hash of the request by which people gave the standing approval. */
  request_hash: string;
  /** Hex SHA-256 of its canonical signed object without `log`. */
  authorization_hash: string;
  /** Number of this use, and the limit. */
  use: number;
  of: number;
  /** Total with this use; null without amounts. */
  spent: string | null;
  budget: string | null;
  currency: string | null;
}

export interface DecidedByRule {
  kind: "rule";
  ruleset_hash: string;
  policy_ids: string[];
  context_hash: string;
}

export type DecidedBy = { kind: "people" } | DecidedByGrant | DecidedByRule;

/** A freeze of the agent by its organization can decide a denial, never an approval. */
export type Decider = DecidedBy | { kind: "freeze" };

/** Longest time for which an approval that no person gave can be used. */
const unaskedSeconds = 3600;

export function usableUntil({
  request: { usable_for_seconds: asked },
  decided_by: { kind },
  approved_at,
}: {
  request: { usable_for_seconds?: number };
  decided_by: DecidedBy;
  approved_at: string;
}): string | null {
  const seconds = kind === "people" ? asked : Math.min(asked ?? unaskedSeconds, unaskedSeconds);
  return seconds === undefined ? null : new Date(Date.parse(approved_at) + seconds * 1000).toISOString();
}
