/** Words for who decided: people with their groups and ways, a standing approval and what is left of it, or a rule. */
import { formatCount } from "#lib/protocol/text/display-text";
import { type Amount, formatAmount, formatLeft } from "./amount";
import type { DecidedByGrant, Decider } from "./decided-by";
import { readField } from "./shown-content";

/** `the link`: whoever had it. */
export type Way = "passkey" | "World ID" | "World ID and passkey" | "the link";

export interface DecidingPerson {
  readonly name: string | null;
  readonly way: Way;
  /** ISO 8601; null if nothing says it. */
  readonly at: string | null;
  /** Set for a deputy's decision; absent: by their own right. */
  readonly isDeputy?: boolean;
  /** Number of requests that the passkey signed at once; absent: this one alone. */
  readonly listSize?: number;
}

export interface DecidingGroup {
  /** Null where only its id is known: to the public, and after erasure. */
  readonly name: string | null;
  readonly count: number;
}

export type GrantUse = Pick<DecidedByGrant, "use" | "of" | "spent" | "budget" | "currency"> &
  Partial<Pick<DecidedByGrant, "request_hash">>;

export type Decided =
  | {
      readonly kind: "people";
      readonly decision: "approved" | "denied";
      readonly groups: readonly DecidingGroup[];
      readonly people: readonly DecidingPerson[];
      /** World ID level; `none` without it. */
      readonly level: string;
      readonly isTest: boolean;
    }
  /** Null: its object, which says which use this is, is not shown. */
  | { readonly kind: "grant"; readonly use: GrantUse | null }
  | {
      readonly kind: "rule";
      readonly decision: "approved" | "denied";
      readonly policyIds: readonly string[];
    }
  | { readonly kind: "freeze" }
  /** The agent's own word. */
  | { readonly kind: "asserted" }
  | { readonly kind: "nobody" }
  | { readonly kind: "waiting"; readonly given: number; readonly required: number }
  | { readonly kind: "ended"; readonly how: "expired" | "cancelled" | "changed" }
  /** Erased, private or unreadable. */
  | { readonly kind: "hidden" };

/** Number of people in words: "2 members of finance", to the public "2 members of a group". `isPack`: "2 of finance". */
export function describeGroups(groups: readonly DecidingGroup[], isPack = false): string {
  const first = isPack ? "one group" : "a group";
  const each = groups.map(({ name, count }, index) => {
    const people = isPack ? count : formatCount(count, "member");
    return `${people} of ${name ?? (index === 0 ? first : "another")}`;
  });
  return each.length < 2 ? each.join("") : `${each.slice(0, -1).join(", ")} and ${each.at(-1)}`;
}

const levels: Record<string, string> = { orb: "Orb", device: "device", proof_of_human: "Orb" };

/** World ID proves that people differ, a test wallet proves none; for passkeys it is the organization's word. */
function countPeople(people: readonly DecidingPerson[], isTest: boolean): string {
  const isByWorldId = people.every(({ way }) => way === "World ID");
  if (!isByWorldId) return formatCount(people.length, "enrolled approver");
  if (isTest) return formatCount(people.length, "test wallet");
  return people.length === 1 ? "1 person" : `${people.length} different people`;
}

function describePeople(
  { decision, groups, people, level, isTest }: Decided & { kind: "people" },
  isPack: boolean,
): string {
  const ways = [...new Set(people.map(({ way }) => way))];
  if (decision === "denied" && ways[0] === "the link") return "Whoever had the link";
  // A denial needs one of them, however many an approval needs.
  const needed = decision === "denied" ? groups.map((group) => ({ ...group, count: 1 })) : groups;
  const who =
    groups.length === 0 || (decision === "denied" && groups.length > 1)
      ? countPeople(people, isTest)
      : describeGroups(needed, isPack);
  const grade = level === "none" ? "" : ` (${levels[level] ?? level})`;
  return `${who}${ways.length === 0 ? "" : `, by ${ways.join(" and ")}`}${grade}`;
}

/** Words for a use; without amounts only uses are counted. */
export function describeUse({ use, of, spent, budget, currency }: GrantUse): string {
  const money =
    spent === null || budget === null || currency === null
      ? ""
      : `, ${formatLeft(spent, budget, currency)} when it was used`;
  return `use ${use.toLocaleString("en")} of ${of.toLocaleString("en")}${money}`;
}

function describeRule({ decision, policyIds }: Decided & { kind: "rule" }): string {
  if (policyIds.length === 0)
    return `${decision === "denied" ? "No rule permits" : "A rule allowed"} it. Nobody was asked.`;
  const which = `${policyIds.length === 1 ? "Rule" : "Rules"} ${policyIds.join(", ")}`;
  return `${which} ${decision === "denied" ? "denied" : "allowed"} it. Nobody was asked.`;
}

const endings = {
  expired: "Nobody, it expired",
  cancelled: "Nobody, it was cancelled",
  changed: "Nobody, an approver changed it into another request",
} as const;

/**
 * A few words or a sentence. Names in it are other people's text. `isPack`: in the words of evidence packs of version 2,
 * whose reports a verifier makes again and compares.
 */
export function describeDecided(decided: Decided, isPack = false): string {
  switch (decided.kind) {
    case "people":
      return describePeople(decided, isPack);
    case "grant":
      return decided.use === null
        ? "Standing approval. Nobody was asked."
        : `Standing approval: ${describeUse(decided.use)}`;
    case "rule":
      return describeRule(decided);
    case "freeze":
      return "The organization had frozen this agent. Nobody was asked.";
    case "asserted":
      return "The agent says that a human approved. Not proven.";
    case "nobody":
      return "No human approval";
    case "waiting":
      return `Nobody yet: ${decided.given} of ${formatCount(decided.required, "approval")}`;
    case "ended":
      return endings[decided.how];
    case "hidden":
      return "Not shown here";
  }
}

/** Goes before {@link describeDecided}. */
export function labelDecided(decided: Decided): "Approved by" | "Denied by" | "Decided by" | "Approval" {
  switch (decided.kind) {
    case "people":
      return decided.decision === "denied" ? "Denied by" : "Approved by";
    case "grant":
    case "rule":
    case "freeze":
      return "Decided by";
    default:
      return "Approval";
  }
}

export function toUnasked(decidedBy: Exclude<Decider, { kind: "people" }>, status: string): Decided {
  const decision = status === "denied" ? "denied" : "approved";
  if (decidedBy.kind === "rule") return { kind: "rule", decision, policyIds: decidedBy.policy_ids };
  if (decidedBy.kind === "freeze") return { kind: "freeze" };
  return { kind: "grant", use: decidedBy };
}

export function describeUnasked(decidedBy: Decider | null | undefined, status: string): string | null {
  if (!decidedBy || decidedBy.kind === "people") return null;
  const decided = toUnasked(decidedBy, status);
  if (decided.kind === "freeze") return "Denied: the organization has frozen this agent.";
  return describeDecided(decided).replace(/(?<!\.)$/, ".");
}

/** For a cell of a list: what was left is on the page behind it. */
export const shortenDecided = (words: string): string =>
  words.replace(/^(Standing approval: use \S+ of [\d,]*\d), .* when it was used/, "$1");

/* A counter-offer in words. Its checks are in amendment.ts, which pages don't load for a sentence. */

interface Chain {
  readonly amends: { readonly fields: readonly string[]; readonly by?: string };
  readonly before: { readonly amount?: Amount };
  readonly now: { readonly amount?: Amount };
}

/** "amount from 120.00 EUR to 80.00 EUR, payee, by Ada". `who`: the approver's name, if the reader knows it. */
export function describeAmendment(
  { amends: { fields, by }, before, now }: Chain,
  who?: string | null,
): string {
  const changes = fields.map((field) =>
    field === "amount" && before.amount && now.amount
      ? `amount from ${formatAmount(before.amount)} to ${formatAmount(now.amount)}`
      : (readField(field) ?? field),
  );
  return [...changes, `by ${who ?? (by === undefined ? "somebody with the link" : "an approver")}`].join(
    ", ",
  );
}
