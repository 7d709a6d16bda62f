/** A pack's entries in words, for its report, its CSV, the page that checks it, and its PDF (version 2), with their sums. */
import { type Amount, padDecimals, sumByCurrency } from "#lib/protocol/approval/amount";
import { describeDecided, describeUse } from "#lib/protocol/approval/decided-words";
import { byteOrderMark, encodeCsvLine } from "#lib/protocol/encoding/csv";
import { listPeople } from "#lib/protocol/record/facts";
import type { PackCounts, PackEntry } from "./pack-entries";

export interface PackRow {
  agent: string;
  number: number;
  /** ISO 8601 */
  time: string | null;
  kind: "attestation" | "decision";
  amount: Amount | null;
  /** Payee from an opening; null if the pack has none. */
  payee: string | null;
  /** The agent's words, or the organization's reason for a change; null if they are not in the pack. */
  action: string | null;
  /** Argument of a call, where the action names its tool alone. */
  title: string | null;
  tool: string | null;
  /** Reason why there is no content; empty if there is. */
  missing: string;
  /** A decision or a change; empty for an attestation. */
  outcome: string;
  decided: string;
  /** Change by an approver, of what was approved. */
  changed: string;
  /** Method and time for each approver. */
  approvers: string;
  /** Ids of the rules that decided. */
  rule: string;
  /** Number of the standing approval's use, and what was left. */
  use: string;
  /** Hash of the standing approval's request. */
  grant: string;
  isTest: boolean;
  warnings: readonly string[];
  file: string;
}

const missingWords: Partial<Record<PackEntry["state"], string>> = {
  erased: "erased",
  withheld: "content kept out",
};

/** Describes all that `total` counts, except freezes and their ends. */
export const describeDecisionCounts = (counts: PackCounts["decisions"]): string =>
  `${counts.approved} approved, ${counts.denied} denied, ${counts.cancelled} cancelled, ${counts.revoked} taken back, ${counts.erased} erased`;

function describeOutcome({ decision, changedInto }: PackEntry): string {
  if (changedInto !== null) return `replaced by number ${changedInto}, as an approver changed it`;
  return decision === "authorization_revoked" ? "taken back" : (decision ?? "");
}

function describeDecider({ approval, decision, facts: { decided } }: PackEntry) {
  const isShown = decision === null ? approval !== null : decision === "approved";
  if (!isShown) return { decided: "", rule: "", use: "", grant: "" };
  const use = decided.kind === "grant" ? decided.use : null;
  return {
    decided: describeDecided(decided, true),
    rule: decided.kind === "rule" ? decided.policyIds.join(", ") : "",
    use: use === null ? "" : describeUse(use),
    grant: use?.request_hash ?? "",
  };
}

export function toPackRow(entry: PackEntry, agent: string): PackRow {
  const { sequence, time, isDecision, action, state, facts, isTest, warnings, file } = entry;
  const { amount, title, tool, payee } = facts;
  return {
    agent,
    number: sequence,
    time,
    kind: isDecision ? "decision" : "attestation",
    amount,
    payee,
    action,
    title,
    tool,
    missing: missingWords[state] ?? "",
    outcome: describeOutcome(entry),
    ...describeDecider(entry),
    changed: facts.changed ?? "",
    approvers: listPeople(facts).join("; "),
    isTest,
    warnings,
    file,
  };
}

/** "git push (Use the tool Bash)" */
export const describeAction = ({ action, title }: Pick<PackRow, "action" | "title">): string | null =>
  action === null || title === null ? action : `${title} (${action})`;

/** "approved: 2 of one group, by passkey; changed: amount from 120.00 EUR to 80.00 EUR, by an approver" */
export const describeDecision = ({
  outcome,
  decided,
  changed,
}: Pick<PackRow, "outcome" | "decided" | "changed">): string =>
  [
    [outcome, decided].filter((text) => text !== "").join(": "),
    ...(changed === "" ? [] : [`changed: ${changed}`]),
  ].join("; ");

const csvColumns: Record<string, (row: PackRow) => string> = {
  agent: (row) => row.agent,
  number: (row) => String(row.number),
  time: (row) => row.time ?? "",
  kind: (row) => row.kind,
  amount: (row) => (row.amount === null ? "" : padDecimals(row.amount)),
  currency: (row) => row.amount?.currency ?? "",
  payee: (row) => row.payee ?? "",
  action: (row) => row.action ?? "",
  title: (row) => row.title ?? "",
  tool: (row) => row.tool ?? "",
  decision: (row) => row.outcome,
  decided_by: (row) => row.decided,
  changed: (row) => row.changed,
  approvers: (row) => row.approvers,
  rule: (row) => row.rule,
  standing_approval: (row) => row.grant,
  use: (row) => row.use,
  test: (row) => (row.isTest ? "TEST" : ""),
  warnings: (row) => row.warnings.join(", "),
  missing: (row) => row.missing,
  file: (row) => row.file,
};

/** `report.csv` is the entries of the report for a spreadsheet. */
export const packCsvHead = `${byteOrderMark}${encodeCsvLine(Object.keys(csvColumns))}`;

export const writePackCsvLine = (row: PackRow) =>
  encodeCsvLine(Object.values(csvColumns).map((read) => read(row)));

export interface PackSum {
  kind: "Attested actions" | "Approvals" | "Denials";
  /** Null: of all agents together. */
  agent: string | null;
  sum: Amount;
  count: number;
}

const sumKinds: readonly (readonly [PackSum["kind"], (row: PackRow) => boolean])[] = [
  ["Attested actions", ({ kind }) => kind === "attestation"],
  ["Approvals", ({ outcome }) => outcome === "approved"],
  ["Denials", ({ outcome }) => outcome === "denied"],
];

/** Sums of one agent. An approval and the action that it backs have the same amount, so each kind has sums of its own. */
export function sumPackRows(rows: readonly PackRow[]): AgentSum[] {
  return sumKinds.flatMap(([kind, is]) => {
    const amounts = rows.filter(is).flatMap(({ amount }) => amount ?? []);
    return sumByCurrency(amounts).map(({ count, ...sum }) => ({ kind, sum, count }));
  });
}

type AgentSum = Omit<PackSum, "agent">;

export function joinSums(all: readonly AgentSum[]): AgentSum[] {
  return sumKinds.flatMap(([kind]) => {
    const own = all.filter((one) => one.kind === kind);
    return sumByCurrency(own.map(({ sum }) => sum)).map(({ value, currency }) => {
      const count = own.reduce((sum, one) => sum + (one.sum.currency === currency ? one.count : 0), 0);
      return { kind, sum: { value, currency }, count };
    });
  });
}

/** Sums of all agents together, and if there are several with entries, of each. */
export function sumPack(agents: readonly { slug: string; entries: number; sums: readonly AgentSum[] }[]) {
  const slugs = [...new Set(agents.filter(({ entries }) => entries > 0).map(({ slug }) => slug))];
  const all = [null, ...(slugs.length > 1 ? slugs : [])].flatMap((agent) => {
    const own = agents.filter(({ slug }) => agent === null || slug === agent);
    return joinSums(own.flatMap(({ sums }) => sums)).map((sum): PackSum => ({ ...sum, agent }));
  });
  return sumKinds.flatMap(([kind]) => all.filter((one) => one.kind === kind));
}
