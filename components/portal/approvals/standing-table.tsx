/** Standing approvals with what is left of each. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { Money } from "#components/ui/money";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import { formatLeft } from "#lib/protocol/approval/amount";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { TakeBackDialog } from "./take-back-dialog";

export interface StandingRow {
  readonly request_id: string;
  readonly agent_slug: string;
  readonly action: string;
  readonly terms: GrantTerms;
  readonly used: { readonly uses: number; readonly spent: string };
  /** True if its agent is frozen, or has another key or code now. */
  readonly isSuspended: boolean;
}

function BudgetLeft({ row: { terms, used } }: { readonly row: StandingRow }) {
  const { max_budget, max_amount, currency = "" } = terms;
  if (max_budget !== undefined)
    return <b className="font-semibold">{formatLeft(used.spent, max_budget, currency)}</b>;
  if (max_amount === undefined) return <span className="text-muted">no amounts</span>;
  return (
    <>
      <Money value={max_amount} currency={currency} /> each
    </>
  );
}

interface StandingTableProps {
  readonly rows: readonly StandingRow[];
  /** Null for people who may not stop anything. */
  readonly takeBack: FormAction | null;
  readonly empty: ReactNode;
  /** Set on the page of one agent. */
  readonly hidesAgent?: boolean;
}

export function StandingTable({ rows, takeBack, empty, hidesAgent = false }: StandingTableProps) {
  const columns: Column<StandingRow>[] = [
    {
      id: "action",
      header: "Allows",
      isRowHeader: true,
      cell: (row) => (
        <>
          <TextLink href={`/portal/authorizations/${row.request_id}`}>
            {row.action === "" ? "Erased" : <AgentText value={row.action} isExcerpt />}
          </TextLink>
          {row.isSuspended ? (
            <>
              {" "}
              <StatusPill tone="warn">Suspended</StatusPill>
            </>
          ) : null}
        </>
      ),
    },
    ...(hidesAgent
      ? []
      : [
          {
            id: "agent",
            header: "Agent",
            isCut: true,
            width: "medium" as const,
            cell: (row: StandingRow) => <AgentText value={row.agent_slug} isName hideWarnings />,
          },
        ]),
    { id: "budget", header: "Budget", numeric: true, width: "huge", cell: (row) => <BudgetLeft row={row} /> },
    {
      id: "uses",
      header: "Uses left",
      numeric: true,
      width: "small",
      cell: ({ terms, used }) => `${Math.max(0, terms.max_calls - used.uses)} of ${terms.max_calls}`,
    },
    { id: "end", header: "Ends", width: "medium", cell: ({ terms }) => <ListTime iso={terms.expires_at} /> },
    ...(takeBack === null
      ? []
      : [
          {
            id: "actions",
            header: "Actions",
            width: "medium" as const,
            cell: (row: StandingRow) => (
              <TakeBackDialog
                action={takeBack}
                requestId={row.request_id}
                state="approved"
                name={row.action}
              />
            ),
          },
        ]),
  ];
  return (
    <DataTable
      caption="Standing approvals, newest first"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.request_id}
      isLine
      empty={empty}
    />
  );
}
