/** Warnings in lists: what is authentic but bad news. Approval grades and erasures have marks of their own. */
import type { WarningCode } from "#lib/protocol/statement/warnings";
import { StatusPill } from "./ui/status-pill";
import { warningTone } from "./warning-tones";

const labels: Partial<Record<WarningCode, string>> = {
  agent_signature_invalid: "Agent's signature wrong",
  code_hash_mismatch: "Code not as registered",
  tools_not_registered: "Unregistered tool",
  client_gap: "Number skipped or repeated",
  agent_frozen: "Agent was frozen",
  approval_stopped: "Approval stopped since",
  reported_by_trace: "From a trace",
  signing_key_revoked: "Signing key revoked",
  zk_key_revoked: "Proof's key revoked",
};

/** Other warnings have marks of their own. */
export const hasWarningPill = ({ warnings }: Pick<WarningPillsProps, "warnings">): boolean =>
  warnings.some(({ code }) => labels[code] !== undefined);

interface WarningPillsProps {
  readonly warnings: readonly { readonly code: WarningCode }[];
  /** Several are one mark with their number. */
  readonly isCounted?: boolean;
}

export function WarningPills({ warnings, isCounted = false }: WarningPillsProps) {
  const count = warnings.filter(({ code }) => labels[code] !== undefined).length;
  if (isCounted && count > 1) return <StatusPill tone="warn">{count} warnings</StatusPill>;
  return warnings.map(({ code }) =>
    labels[code] === undefined ? null : (
      <StatusPill key={code} tone={warningTone(code)}>
        {labels[code]}
      </StatusPill>
    ),
  );
}
