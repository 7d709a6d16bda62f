/** Requests that wait for a person, or were decided, with the link to the approval page. */

import { AgentText } from "#components/agent-text";
import { type AmountSort, amountColumns } from "#components/amount-column";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import type { Amount } from "#lib/protocol/approval/amount";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { AuthorizationStatusPill } from "./authorization-status";
import { RequestTitle, When } from "./authorization-table";

interface InboxRow {
  readonly request_id: string;
  readonly organization_name: string | null;
  readonly agent_slug: string;
  readonly action: string;
  readonly title: string;
  readonly brief: string | null;
  readonly amount: Amount | null;
  readonly payee: string | null;
  /** Reason for which the organization's rules ask people. */
  readonly why: string | null;
  /** The same reason, as far as a line has room. */
  readonly whyBriefly: string | null;
  readonly tool: string | null;
  readonly status: AuthorizationStatus;
  readonly amended_by: string | null;
  readonly is_test: boolean;
  readonly environment: string;
  readonly approvals: { readonly required: number; readonly given: number };
  readonly expires_at: string;
  readonly decided_at: string | null;
  readonly denial_reason: string | null;
  readonly revoked_at: string | null;
  readonly is_over: boolean;
  readonly expires_soon: boolean;
  readonly approval_url: string;
}

const actionColumn: Column<InboxRow> = {
  id: "action",
  header: "Action",
  isRowHeader: true,
  maxLines: "four-lines",
  cell: (row) => <RequestTitle row={row} href={new URL(row.approval_url).pathname} />,
};

const listOtherColumns = (isTestSaid: boolean): readonly Column<InboxRow>[] => [
  {
    id: "agent",
    header: "Requested by",
    isCut: true,
    width: "wide",
    cell: (row) => (
      <>
        <span className="md:block md:truncate">
          <AgentText value={row.agent_slug} isName hideWarnings />
        </span>
        <span className="text-muted md:block md:truncate">
          <span className="md:hidden">{" · "}</span>
          <AgentText value={organizationTitle(row.organization_name)} isName hideWarnings />
        </span>
      </>
    ),
  },
  {
    id: "status",
    header: "State",
    width: "medium",
    cell: (row) => (
      <span className="flex flex-wrap items-center gap-1.5">
        <AuthorizationStatusPill
          status={row.status}
          amendedBy={row.amended_by}
          environment={row.environment}
          given={row.approvals.given}
          isTest={row.is_test}
          revokedAt={row.revoked_at}
          isOver={row.is_over}
          isTestSaid={isTestSaid}
        />
        {row.expires_soon ? <StatusPill tone="warn">Expires soon</StatusPill> : null}
      </span>
    ),
  },
  {
    id: "approvals",
    header: "Approvals",
    width: "small",
    numeric: true,
    cell: (row) => `${row.approvals.given} of ${row.approvals.required}`,
  },
  { id: "when", header: "When", width: "large", cell: (row) => <When row={row} /> },
];

const whyColumn: Column<InboxRow> = {
  id: "why",
  header: "Why asked",
  isCut: true,
  width: "large",
  cell: ({ why, whyBriefly }) =>
    why === null ? (
      <span className="text-muted">no rules</span>
    ) : (
      <span title={why}>
        <AgentText value={whyBriefly ?? why} hideWarnings />
      </span>
    ),
};

const reasonColumn: Column<InboxRow> = {
  id: "reason",
  header: "Reason given",
  isCut: true,
  width: "large",
  cell: ({ denial_reason: reason }) =>
    reason === null ? null : (
      <span title={reason}>
        <AgentText value={reason} isExcerpt />
      </span>
    ),
};

interface InboxTableProps {
  readonly rows: readonly InboxRow[];
  readonly isWaiting: boolean;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
  readonly sort?: AmountSort;
}

export function InboxTable({ rows, isWaiting, isTestSaid = false, sort }: InboxTableProps) {
  return (
    <DataTable
      caption={isWaiting ? "Requests that wait, newest first" : "Decided requests, newest first"}
      columns={[
        actionColumn,
        ...amountColumns(rows, sort),
        ...listOtherColumns(isTestSaid),
        ...(rows.some(({ why }) => why !== null) ? [whyColumn] : []),
        ...(rows.some(({ denial_reason: reason }) => reason !== null) ? [reasonColumn] : []),
      ]}
      isLine
      rows={rows}
      rowKey={(row) => row.request_id}
      empty={
        <p className="py-4 text-muted">
          {isWaiting ? "No pending requests. New ones appear here." : "No decisions yet."}
        </p>
      }
    />
  );
}
