/** Reasons why a check of an evidence pack did not pass: a list of its own, which no page has to load (reasons.ts). */

import type { ValuesIn } from "#lib/protocol/statement/reasons";

export const packReasons = {
  archive_unreadable: "{problem}",
  file_unknown: "{file} is no file of a pack",
  file_missing: "{file} is missing",
  file_changed: "{file} is not the file that the manifest names",
  manifest_unreadable: "manifest.json: {problem}",
  manifest_mismatch: "manifest.json says another {field} than the files do",
  report_mismatch: "{file} is not the one that follows from the files",
  entry_invalid: "{file}: {problem}",
  entry_absent: "number {number} of the period is missing",
  entry_foreign: "{file} is not in the record under this number",
  agent_foreign: "an entry is of the agent {slug}, not of this one",
  agent_repeated: "the agent {slug} is in it twice",
  agent_unnamed: "nothing signed in this pack names the agent: its entries have no content here",
  period_padded: "number {number}, of {time}, is not of the period",
  period_cut: "number {number}, just outside, is of {time}: within the period",
  period_reversed: "the period, or what is just outside of it, ends before it begins",
  period_not_counted:
    "no signed count from {to} on shows that number {number} is the last entry: what may follow is not counted",
  period_unproven: "number {number}, just outside, has no signed time in this pack",
  checkpoints_differ: "two checkpoints of {origin} at size {size}: the log was forked",
  checkpoint_invalid: "a checkpoint in {file}: {problem}",
  consistency_unproven: "nothing shows that {origin} at size {to} extends what it was at size {from}",
  use_out_of_terms: "number {number} goes beyond the standing approval that covers it: {what}",
  use_missing: "number {number} is use {use} of its standing approval, and uses before it are missing",
  use_repeated:
    "number {number} is use {use} of its standing approval: more uses or amounts before it are attested",
  approval_reused: "number {number} is backed by the approval that number {earlier} has used",
  approval_taken_back: "number {number} rests on an approval that number {revoked} took back",
  claimed_late:
    "number {number} says that its approval was claimed at {claimed}, after its standing approval ended",
  use_terms_absent:
    "{uses} of standing approvals from before the period: numbered without a gap here, but the terms are not in this pack",
  use_content_absent: "{entries} without content: whether standing approvals were used is not in this pack",
  client_gap_mismatch:
    "number {number} has a client_gap that doesn't follow from the agent's own numbers before it",
  frozen_mismatch:
    "number {number} says otherwise than the changes before it whether, or since when, the agent was frozen",
  signature_replayed: "number {number} has the agent's signature of number {earlier}",
  approved_while_frozen: "number {number} is an approval, although the agent was frozen",
  amended_open:
    "number {number}: a changed request was approved before the one that it changes was cancelled",
  changed_into_other:
    "number {number} names number {other} as the decision about the request that an approver made of it, and it is none",
  ground_not_logged: "number {number} rests on {what} that the log doesn't have before it",
  rules_mismatch: "{problem}",
  rules_missing: "the rules of {decisions} are not in this pack",
  derivation_not_logged: "{file}: the log has no such derivation",
  derivation_refused: "{file}: the {what} doesn't follow from the decisions: {why}",
  derivation_absent: "{file}: what this standing approval was derived from is not in this pack",
  derivation_content_absent:
    "the {what} rests on {requests} whose content is not in this pack: nothing here speaks against it",
  attention_mismatch: "{file}: the numbers of {group} don't follow from its decisions",
  planted_mismatch: "planted.json: {problem}",
  rules_content_absent: "{decisions} without content: whether rules decided is not in this pack",
  content_absent: "{entries} without content: erased, or kept out of the pack",
  verifier_other:
    "verify.mjs in the pack is not the program that runs here: before you run it, compare its SHA-256 with the one that the service publishes",
} as const;

export type PackReason = keyof typeof packReasons;

/** Like {@link Outcome} of outcome.ts, with codes of this list or of that one. */
export interface PackCheck {
  name: string;
  status: "pass" | "fail" | "not_applicable" | "not_run";
  reason?: string;
  detail: string;
  /** Bad news though the check passes. */
  warnings?: readonly string[];
}

type ValuesOf<Code extends PackReason> = ValuesIn<(typeof packReasons)[Code]>;

function explain<Code extends PackReason>(code: Code, ...[values]: ValuesOf<Code>): string {
  const known: Record<string, string | number> = values ?? {};
  return packReasons[code].replace(/\{(\w+)\}/g, (_, name: string) => String(known[name]));
}

export const packFault = <Code extends PackReason>(
  name: string,
  reason: Code,
  ...values: ValuesOf<Code>
): PackCheck => ({
  name,
  status: "fail",
  reason,
  detail: explain(reason, ...values),
});

export const packGap = <Code extends PackReason>(
  name: string,
  reason: Code,
  ...values: ValuesOf<Code>
): PackCheck => ({
  ...packFault(name, reason, ...values),
  status: "not_applicable",
});

export const packPass = (name: string, detail: string): PackCheck => ({ name, status: "pass", detail });

export const withWarnings = (check: PackCheck, warnings: readonly string[]): PackCheck =>
  warnings.length === 0 ? check : { ...check, warnings };
