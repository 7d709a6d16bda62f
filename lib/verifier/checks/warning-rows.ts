/** Warnings beside the checks that they are about: a check that passes with a warning is not shown as a plain yes. */

import type { Warning, WarningCode } from "#lib/protocol/statement/warnings";
import type { AttestationCheckName } from "./verify-statement";

/** Whose question a warning answers, and the answer; null for what is no check's. */
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
