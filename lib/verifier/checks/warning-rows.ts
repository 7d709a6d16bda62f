/** Warnings beside the checks that they are about: a check that passes with a warning is not shown as a plain yes. */

import type { ApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { Warning, WarningCode } from "#lib/protocol/statement/warnings";
import type { AttestationCheckName } from "./verify-statement";

/** Check whose question a warning answers, and the answer; null for what is no check's. */
export const warningRows: Record<
  WarningCode,
  { readonly check: AttestationCheckName; readonly answer: string } | null
> = {
  agent_signature_invalid: { check: "agent_signature", answer: "no" },
  code_hash_mismatch: { check: "code_hash", answer: "no" },
  tools_not_registered: { check: "tools", answer: "no" },
  client_gap: { check: "record", answer: "yes, but after a gap" },
  agent_frozen: null,
  approval_stopped: { check: "human_authorization", answer: "yes, stopped since" },
  approval_asserted_only: { check: "human_authorization", answer: "not proven" },
  approval_test: { check: "human_authorization", answer: "a TEST only" },
  reported_by_trace: null,
  signing_key_revoked: { check: "key_validity", answer: "yes, revoked since" },
  zk_key_revoked: { check: "zk_proof", answer: "yes, key revoked since" },
  content_erased: null,
};

/** The first warning about this check, with its code and the answer in its row; undefined if there is none. */
export function findRowWarning(name: string, warnings: readonly Warning[]) {
  for (const { code, message } of warnings) {
    const row = warningRows[code];
    if (row?.check === name) return { code, answer: row.answer, message };
  }
  return undefined;
}

/*
 * Finds what sets a report apart from the agent's other public ones: a missing approval, a missing signature. An
 * absence is no warning by itself, but a reader must not overlook it.
 */

export interface NeighbourReport {
  /** Null after erasure. */
  action: string | null;
  human_approval_method: string | null;
  /** True if signed with the agent's own key, and verified. */
  is_signed: boolean;
  /** ISO 8601 */
  recorded_at: string;
}

export interface Habits {
  /**
   * Number of earlier reports, among those whose action begins with the same word, that have a proven approval; null if most
   * don't.
   */
  approvals: { word: string; approved: number; of: number } | null;
  /** The last signed report before this one, and whether a later one is signed; null if no earlier one is. */
  signatures: { until: string; isResumed: boolean } | null;
}

const fewest = 3;
const usualShare = 0.8;

/** Checks that prove that people approved this very request. */
const isByPeople: ReadonlySet<string> = new Set([
  "proof_of_personhood",
  "enrolled_proof_of_personhood",
  "enrolled_approver",
] satisfies ApprovalMethod[]);

const firstWord = (action: string | null): string => /^\s*(\S{1,60})/.exec(action ?? "")?.[1] ?? "";

function findUsualApprovals(action: string, before: readonly NeighbourReport[]): Habits["approvals"] {
  const word = firstWord(action);
  const alike = before.filter((one) => firstWord(one.action).toLowerCase() === word.toLowerCase());
  const approved = alike.filter((one) => isByPeople.has(one.human_approval_method ?? "")).length;
  const isUsual = word !== "" && alike.length >= fewest && approved / alike.length >= usualShare;
  return isUsual ? { word, approved, of: alike.length } : null;
}

/** `before` and `after`: the public reports on both sides, nearest first. */
export function findHabits(
  action: string,
  before: readonly NeighbourReport[],
  after: readonly NeighbourReport[],
): Habits {
  const lastSigned = before.find(({ is_signed }) => is_signed);
  return {
    approvals: findUsualApprovals(action, before),
    signatures: lastSigned
      ? { until: lastSigned.recorded_at, isResumed: after.some(({ is_signed }) => is_signed) }
      : null,
  };
}
