/** An organization's own attestations, as the overview and the list show them. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type ApprovalMethod, ApprovalPill } from "#components/approval-grades";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { Timestamp } from "#components/ui/timestamp";
import { WarningPills } from "#components/warning-pills";
import type { Warning } from "#lib/domain/warnings";

export interface AttestationRow {
  readonly id: string;
  readonly slug: string;
  /** Null after erasure, and where the signature over it does not hold. */
  readonly action: string | null;
  readonly isErased: boolean;
  readonly createdAt: string;
  readonly isPublic: boolean;
  readonly approvalMethod: ApprovalMethod | null;
  readonly approvalEnvironment: string | null;
  readonly agentAuthenticated: boolean | null;
  readonly warnings: readonly Warning[];
}

function Action({ row }: { readonly row: AttestationRow }) {
  const missing = row.isErased ? "(content erased)" : "(cannot be read)";
  return (
    <TextLink href={`/portal/attestations/${row.id}`}>
      {row.action === null ? missing : <AgentText value={row.action} hideWarnings />}
    </TextLink>
  );
}

function Marks({ row }: { readonly row: AttestationRow }) {
  return (
    <span className="flex flex-wrap gap-1.5">
      {row.isPublic ? (
        <StatusPill tone="neutral">Public</StatusPill>
      ) : (
        <StatusPill tone="private">Private</StatusPill>
      )}
      {row.action === null && !row.isErased ? <StatusPill tone="fail">Cannot be read</StatusPill> : null}
      {row.agentAuthenticated === true ? <StatusPill tone="pass">Agent signed</StatusPill> : null}
      <WarningPills warnings={row.warnings} />
      {row.approvalMethod === null || row.approvalMethod === "none" ? null : (
        <ApprovalPill method={row.approvalMethod} environment={row.approvalEnvironment ?? ""} />
      )}
    </span>
  );
}

const columns: readonly Column<AttestationRow>[] = [
  { id: "action", header: "Action", isRowHeader: true, cell: (row) => <Action row={row} /> },
  {
    id: "agent",
    header: "Agent",
    cell: (row) => (
      <span className="block md:min-w-24">
        <AgentText value={row.slug} isName hideWarnings />
      </span>
    ),
  },
  { id: "marks", header: "State", cell: (row) => <Marks row={row} /> },
  { id: "time", header: "Recorded", cell: (row) => <Timestamp iso={row.createdAt} relative={false} /> },
];

interface AttestationTableProps {
  readonly caption: string;
  readonly rows: readonly AttestationRow[];
  readonly empty: ReactNode;
}

export function AttestationTable({ caption, rows, empty }: AttestationTableProps) {
  return <DataTable caption={caption} columns={columns} rows={rows} rowKey={(row) => row.id} empty={empty} />;
}
