/** One real attestation of this instance in short, for the landing page. */
import type { Warning } from "#lib/domain/warnings";
import { AgentText } from "./agent-text";
import { type ApprovalMethod, ApprovalPill } from "./approval-grades";
import { HashText } from "./ui/code-block";
import { DefinitionList } from "./ui/definition-list";
import { TextLink } from "./ui/text-link";
import { Timestamp } from "./ui/timestamp";
import { WarningPills } from "./warning-pills";

export interface ExampleAttestation {
  readonly agentSlug: string;
  readonly action: string;
  readonly timestamp: string;
  readonly payloadHash: string;
  readonly logIndex: number;
  readonly approvalMethod: ApprovalMethod;
  readonly approvalEnvironment?: string;
  readonly warnings: readonly Warning[];
  readonly publicUrl: string;
}

export function ExampleReceipt({ attestation }: { readonly attestation: ExampleAttestation }) {
  const environment = attestation.approvalEnvironment;
  return (
    <figure className="rounded-lg border border-line bg-surface shadow-[var(--shadow-card)]">
      <figcaption className="border-line border-b px-5 py-3 text-muted text-sm">
        The latest public attestation of this instance
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
          <TextLink href={attestation.publicUrl}>Verify this attestation</TextLink>
        </p>
      </div>
    </figure>
  );
}
