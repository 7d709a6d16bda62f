/** An organization's own attestations, as the overview and the list show them. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type AmountSort, amountColumns } from "#components/amount-column";
import { ApprovalPill } from "#components/approval-grades";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill, TestMark, ToolTag } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { hasWarningPill, WarningPills } from "#components/warning-pills";
import type { OwnAttestation } from "#lib/api/schemas/receipts";
import { shortenDecided } from "#lib/protocol/approval/decided-words";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";

interface AttestationRow extends OwnAttestation {
  /** Title from details that only the organization sees; null if the content is gone. */
  readonly title: string | null;
  /** True if made with a test key. */
  readonly isTest: boolean;
}

interface RowProps {
  readonly row: AttestationRow;
}

const isUnreadable = ({ action, status }: AttestationRow) => action === null && status !== "erased";

const hasMarks = (row: AttestationRow, isTestSaid: boolean) =>
  !row.is_public || (row.isTest && !isTestSaid) || isUnreadable(row) || hasWarningPill(row);

function Action({ row }: RowProps) {
  const missing = row.status === "erased" ? "(content erased)" : "(cannot be read)";
  return (
    <>
      <TextLink href={`/portal/attestations/${row.id}`}>
        {row.title === null ? missing : <AgentText value={row.title} isExcerpt isCommand />}
      </TextLink>
      <ToolTag tool={row.tool} />
    </>
  );
}

function Marks({ row, isTestSaid }: RowProps & { readonly isTestSaid: boolean }) {
  if (!hasMarks(row, isTestSaid)) return null;
  return (
    <span className="flex flex-wrap gap-1.5 *:sm:whitespace-normal">
      {row.is_public ? null : <StatusPill tone="private">Private</StatusPill>}
      {row.isTest && !isTestSaid ? <TestKeyMark /> : null}
      {isUnreadable(row) ? <StatusPill tone="fail">Cannot be read</StatusPill> : null}
      <WarningPills warnings={row.warnings} isCounted />
    </span>
  );
}

function Decided({ row, isTestSaid }: RowProps & { readonly isTestSaid: boolean }) {
  const { human_approval_method: method, human_approval_environment: environment, decided } = row;
  if (!isApprovalMethod(method) || method === "none")
    return <span className="text-muted">No human approval</span>;
  if (method === "hash") return <ApprovalPill method={method} />;
  return (
    <>
      {environment === "production" || isTestSaid ? null : <TestMark method={method} />}{" "}
      {decided === null ? null : <AgentText value={shortenDecided(decided)} isExcerpt />}
    </>
  );
}

const actionColumn: Column<AttestationRow> = {
  id: "action",
  header: "Action",
  isRowHeader: true,
  maxLines: "two-lines",
  cell: (row) => <Action row={row} />,
};

/** Between a phone and a wide screen there is room for who decided or for marks. */
const otherColumns = (isTestSaid: boolean, isMarked: boolean): readonly Column<AttestationRow>[] => [
  {
    id: "decided",
    header: "Decided by",
    isCut: isMarked,
    maxLines: "two-lines",
    width: "large",
    cell: (row) => <Decided row={row} isTestSaid={isTestSaid} />,
  },
  {
    id: "agent",
    header: "Agent",
    isCut: true,
    maxLines: "two-lines",
    width: "medium",
    cell: (row) => <AgentText value={row.agent_slug} isName hideWarnings />,
  },
  ...(isMarked
    ? [
        {
          id: "marks",
          header: "State",
          width: "large" as const,
          cell: (row: AttestationRow) => <Marks row={row} isTestSaid={isTestSaid} />,
        },
      ]
    : []),
  { id: "time", header: "Recorded", width: "medium", cell: (row) => <ListTime iso={row.created_at} /> },
];

interface AttestationTableProps {
  readonly caption: string;
  readonly rows: readonly AttestationRow[];
  readonly empty: ReactNode;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
  readonly sort?: AmountSort;
}

export function AttestationTable({ caption, rows, empty, isTestSaid = false, sort }: AttestationTableProps) {
  const isMarked = rows.some((row) => hasMarks(row, isTestSaid));
  return (
    <DataTable
      caption={caption}
      isLine
      columns={[actionColumn, ...amountColumns(rows, sort), ...otherColumns(isTestSaid, isMarked)]}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
