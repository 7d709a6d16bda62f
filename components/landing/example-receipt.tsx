/** One real attestation in short, for the landing page. */

import { AgentText } from "#components/agent-text";
import { ApprovalPill } from "#components/approval-grades";
import { HashText } from "#components/ui/code-block";
import { DefinitionList } from "#components/ui/definition-list";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { WarningPills } from "#components/warning-pills";
import type { ApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { Warning } from "#lib/protocol/statement/warnings";

export interface ExampleAttestation {
  readonly agentSlug: string;
  readonly action: string;
  readonly timestamp: string;
  readonly payloadHash: string;
  readonly logIndex: number;
  readonly approvalMethod: ApprovalMethod;
  readonly approvalEnvironment?: string;
  readonly warnings: readonly Warning[];
  /** Null: a golden receipt, which is on no instance. */
  readonly publicUrl: string | null;
}

export function ExampleReceipt({ attestation }: { readonly attestation: ExampleAttestation }) {
  const environment = attestation.approvalEnvironment;
  return (
    <figure className="rounded-lg border border-line bg-surface shadow-[var(--shadow-card)]">
      <figcaption className="border-line border-b px-5 py-3 text-muted text-sm">
        {attestation.publicUrl === null ? "An example receipt" : "A receipt, made by this instance"}
      </figcaption>
      <div className="px-5 py-2">
        <DefinitionList
          items={[
            {
              id: "action",
              name: "Action",
              value: <AgentText value={attestation.action} />,
              prominent: true,
            },
            { id: "agent", name: "Agent", value: <AgentText value={attestation.agentSlug} isName /> },
            { id: "time", name: "Recorded", value: <Timestamp iso={attestation.timestamp} /> },
            {
              id: "approval",
              name: "Human approval",
              value: (
                <span className="flex flex-wrap gap-1.5 *:whitespace-normal!">
                  <ApprovalPill
                    method={attestation.approvalMethod}
                    {...(environment === undefined ? {} : { environment })}
                  />
                  <WarningPills warnings={attestation.warnings} />
                </span>
              ),
            },
            { id: "index", name: "Log index", value: attestation.logIndex.toLocaleString("en") },
            {
              id: "hash",
              name: "Payload hash",
              value: <HashText value={attestation.payloadHash} label="payload hash" />,
            },
          ]}
        />
        <p className="py-3">
          <TextLink href={attestation.publicUrl ?? "/#break"}>
            {attestation.publicUrl === null ? "Break this receipt" : "Verify this attestation"}
          </TextLink>
        </p>
      </div>
    </figure>
  );
}

/** public/vectors/1.0.0/human-approved.json, for an instance that has nothing of its own to show. */
export const goldenExample: ExampleAttestation = {
  agentSlug: "treasurer",
  action: "Pay 12,000 EUR to Example GmbH",
  timestamp: "2026-11-25T09:53:49.172Z",
  payloadHash: "613d7914ec2598b52750422b492ae72ed7c1f00d19b5662ccc26791f045530ee",
  logIndex: 6,
  approvalMethod: "proof_of_personhood",
  approvalEnvironment: "local",
  warnings: [],
  publicUrl: null,
};
