/** An organization's authorization requests. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type AmountSort, amountColumns } from "#components/amount-column";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { ToolTag } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import type { Amount } from "#lib/protocol/approval/amount";
import type { Decider } from "#lib/protocol/approval/decided-by";
import { describeUnasked, shortenDecided } from "#lib/protocol/approval/decided-words";
import { formatCount } from "#lib/protocol/text/display-text";
import { AuthorizationStatusPill } from "./authorization-status";

export interface AuthorizationRow {
  readonly request_id: string;
  readonly status: AuthorizationStatus;
  readonly environment: string;
  readonly isTest: boolean;
  readonly unattested_at?: string | null | undefined;
  readonly revoked_at: string | null;
  readonly end: string | null;
  readonly attestation_id?: string | null | undefined;
  readonly agent_slug: string;
  /** The request that took its place. */
  readonly amended_by?: string | null | undefined;
  readonly action: string;
  readonly title: string;
  /** Command or details, where the title is an action in the agent's own words. */
  readonly brief: string | null;
  readonly amount: Amount | null;
  readonly payee: string | null;
  readonly tool: string | null;
  readonly decided_by: Decider | null;
  /** Enrolled approvers who approved, or the one who denied. */
  readonly decidedNames: readonly string[];
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  readonly approvals: { readonly required: number; readonly given: number };
  /** While it waits. */
  readonly approval_url: string | null;
}

/** A cancellation is nobody's decision. */
const wordFor = ({ status, amended_by }: Times) =>
  amended_by ? "changed" : status === "cancelled" ? "cancelled" : "decided";

type Times = Pick<AuthorizationRow, "status" | "amended_by" | "decided_at" | "expires_at">;

export function When({ row }: { readonly row: Times }) {
  const decided = row.decided_at !== null && row.status !== "expired";
  return (
    <>
      <span className={row.status === "pending" ? "text-muted" : "text-muted md:sr-only"}>
        {row.status === "pending" ? "until" : decided ? wordFor(row) : "ended"}
      </span>{" "}
      <ListTime iso={decided ? (row.decided_at ?? row.expires_at) : row.expires_at} />
    </>
  );
}

interface RequestTitleProps {
  readonly row: Pick<AuthorizationRow, "action" | "title" | "brief" | "payee" | "tool">;
  readonly href: string;
}

/** Longer titles may be cut before their end. */
const maxWhole = 80;
const saysPayee = (title: string, payee: string) =>
  title.length <= maxWhole && title.endsWith(` to ${payee}`);

/** Names what runs, the payee unless the title ends with it, or else what tells the request apart, and the tool. */
export const RequestTitle = ({ row: { action, title, brief, payee, tool }, href }: RequestTitleProps) => (
  <>
    <TextLink href={href}>
      {action === "" ? "Erased" : <AgentText value={title} isExcerpt isCommand />}
    </TextLink>
    {!payee || saysPayee(title, payee) ? null : (
      <>
        {" "}
        <span className="font-normal">
          to <AgentText value={payee} hideWarnings />
        </span>
      </>
    )}
    {brief === null ? null : (
      <span className="block font-normal text-muted text-sm">
        <AgentText value={brief} isExcerpt />
      </span>
    )}
    <ToolTag tool={tool} />
  </>
);

/** People by name if they are enrolled, else approvals so far, or what decided without people; nothing if nobody did. */
function DecidedBy({ row }: { readonly row: AuthorizationRow }) {
  const { status, decided_by, decidedNames, approvals } = row;
  const unasked = describeUnasked(decided_by, status);
  if (unasked !== null) return <AgentText value={shortenDecided(unasked)} hideWarnings />;
  if (status === "cancelled" || status === "expired") return null;
  const given = `${approvals.given} of ${formatCount(approvals.required, "approval")}`;
  if (status === "pending") return given;
  if (decidedNames.length > 0) return <AgentText value={decidedNames.join(", ")} isName />;
  return status === "denied" ? "Whoever had the link" : given;
}

function buildColumns({
  rows,
  actions,
  isTestSaid = false,
  sort,
}: AuthorizationTableProps): readonly Column<AuthorizationRow>[] {
  return [
    {
      id: "action",
      header: "Action",
      isRowHeader: true,
      maxLines: "four-lines",
      cell: (row) => <RequestTitle row={row} href={`/portal/authorizations/${row.request_id}`} />,
    },
    ...amountColumns(rows, sort),
    ...(actions === null
      ? []
      : [
          {
            id: "agent",
            header: "Agent",
            isCut: true,
            maxLines: "two-lines" as const,
            width: "medium" as const,
            cell: (row: AuthorizationRow) => <AgentText value={row.agent_slug} isName hideWarnings />,
          },
        ]),
    {
      id: "status",
      header: "State",
      width: "medium",
      cell: (row) => (
        <AuthorizationStatusPill
          status={row.status}
          amendedBy={row.amended_by}
          environment={row.environment}
          given={row.approvals.given}
          isTest={row.isTest}
          unattestedAt={row.unattested_at}
          revokedAt={row.revoked_at}
          isOver={row.end !== null && !row.attestation_id}
          isTestSaid={isTestSaid}
        />
      ),
    },
    {
      id: "decided",
      header: "Decided by",
      isCut: true,
      maxLines: "two-lines",
      width: "large",
      cell: (row) => <DecidedBy row={row} />,
    },
    { id: "when", header: "When", width: "large", cell: (row) => <When row={row} /> },
    ...(actions !== null && rows.some(({ status }) => status === "pending")
      ? [
          {
            id: "actions",
            header: "Actions",
            width: "medium" as const,
            cell: (row: AuthorizationRow) => (row.status === "pending" ? actions(row) : null),
          },
        ]
      : []),
  ];
}

interface AuthorizationTableProps {
  readonly rows: readonly AuthorizationRow[];
  /** Null on the page of one agent. */
  readonly actions: ((row: AuthorizationRow) => ReactNode) | null;
  readonly empty: ReactNode;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
  readonly sort?: AmountSort;
}

export function AuthorizationTable(props: AuthorizationTableProps) {
  const { rows, empty } = props;
  return (
    <DataTable
      caption="Authorization requests, newest first"
      columns={buildColumns(props)}
      rows={rows}
      rowKey={(row) => row.request_id}
      isLine
      empty={empty}
    />
  );
}
