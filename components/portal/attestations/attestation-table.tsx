/** An organization's own attestations, as the overview and the list show them. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { amountColumns } from "#components/amount-column";
import { ApprovalPill } from "#components/approval-grades";
import { DecidedLine } from "#components/decided-line";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { WarningPills } from "#components/warning-pills";
import type { OwnAttestation } from "#lib/api/schemas/receipts";
import { isApprovalMethod } from "#lib/protocol/statement/statement";

interface AttestationRow extends OwnAttestation {
  /** From details that only the organization sees; null if the content is gone. */
  readonly title: string | null;
  /** Made with a test key. */
  readonly isTest: boolean;
}

interface RowProps {
  readonly row: AttestationRow;
}

function Action({ row }: RowProps) {
  const missing = row.status === "erased" ? "(content erased)" : "(cannot be read)";
  return (
    <span className="block md:min-w-56">
      <TextLink href={`/portal/attestations/${row.id}`}>
        {row.title === null ? missing : <AgentText value={row.title} isExcerpt />}
      </TextLink>
      {row.tool === null ? null : (
        <span className="block break-all font-mono font-normal text-muted">
          <AgentText value={row.tool} isName hideWarnings />
        </span>
      )}
    </span>
  );
}

function Marks({ row }: RowProps) {
  const { human_approval_method: method } = row;
  return (
    <span className="flex flex-wrap gap-1.5">
      {row.is_public ? (
        <StatusPill tone="neutral">Public</StatusPill>
      ) : (
        <StatusPill tone="private">Private</StatusPill>
      )}
      {row.isTest ? <TestKeyMark /> : null}
      {row.action === null && row.status !== "erased" ? (
        <StatusPill tone="fail">Cannot be read</StatusPill>
      ) : null}
      {row.agent_authenticated === true ? <StatusPill tone="proven">Agent signed</StatusPill> : null}
      <WarningPills warnings={row.warnings} />
      {!isApprovalMethod(method) || method === "none" ? null : (
        <ApprovalPill method={method} environment={row.human_approval_environment ?? ""} />
      )}
      <DecidedLine entry={row} />
    </span>
  );
}

const actionColumn: Column<AttestationRow> = {
  id: "action",
  header: "Action",
  isRowHeader: true,
  cell: (row) => <Action row={row} />,
};

const otherColumns: readonly Column<AttestationRow>[] = [
  {
    id: "agent",
    header: "Agent",
    cell: (row) => (
      <span className="block md:min-w-24">
        <AgentText value={row.agent_slug} isName hideWarnings />
      </span>
    ),
  },
  { id: "marks", header: "State", cell: (row) => <Marks row={row} /> },
  { id: "time", header: "Recorded", cell: (row) => <Timestamp iso={row.created_at} relative={false} /> },
];

interface AttestationTableProps {
  readonly caption: string;
  readonly rows: readonly AttestationRow[];
  readonly empty: ReactNode;
}

export function AttestationTable({ caption, rows, empty }: AttestationTableProps) {
  return (
    <DataTable
      caption={caption}
      columns={[actionColumn, ...amountColumns(rows), ...otherColumns]}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
