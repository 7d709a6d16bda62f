/** Requests that wait, or are approved and unused: saved rules reach them, and each can be taken back. */

import { AgentText } from "#components/agent-text";
import { AmountOrder, type AmountSort, amountColumns } from "#components/amount-column";
import { TakeBackDialog } from "#components/portal/approvals/take-back-dialog";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { ToolTag } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { FormAction } from "#lib/api/schemas/form-state";
import type { UnfinishedRequest } from "#lib/api/schemas/portal";

const approvedBy = {
  standing: "As a standing approval",
  people: "By people",
  grant: "By a standing approval",
  rule: "By a rule",
  freeze: "Yes",
} as const;

interface UnfinishedRequestsProps {
  readonly rows: readonly UnfinishedRequest[];
  readonly hasMore: boolean;
  readonly sort: AmountSort;
  /** Set for a role that may stop them. */
  readonly stop: { readonly takeBack: FormAction<null>; readonly cancel: FormAction<null> } | null;
}

function describeState({ approvedBy: kind, isPending, isClaimed }: UnfinishedRequest): string {
  if (isPending || kind === null) return "Not yet";
  return isClaimed ? `${approvedBy[kind]}, claimed by a run` : approvedBy[kind];
}

function describeRules({ approvedBy: kind, isClaimed, stop }: UnfinishedRequest): string {
  if (kind === "standing") return "Each use is checked";
  if (stop === null) return "Goes on";
  return isClaimed ? `Attested with a warning: ${stop}` : `Stopped: ${stop}`;
}

const stopColumn = ({ takeBack, cancel }: NonNullable<UnfinishedRequestsProps["stop"]>) =>
  ({
    id: "stop",
    header: "Stop it",
    width: "medium",
    cell: ({ request_id, action, isPending, isClaimed }) =>
      isPending ? (
        <TakeBackDialog action={cancel} requestId={request_id} state="pending" name={action} />
      ) : (
        <TakeBackDialog
          action={takeBack}
          requestId={request_id}
          state={isClaimed ? "claimed" : "approved"}
          name={action}
        />
      ),
  }) satisfies Column<UnfinishedRequest>;

export function UnfinishedRequests({ rows, hasMore, sort, stop }: UnfinishedRequestsProps) {
  return (
    <>
      {sort.isSorted || rows.some(({ amount }) => amount !== null) ? <AmountOrder {...sort} /> : null}
      <DataTable
        caption="Requests that wait, and approvals that nothing has used"
        rows={rows}
        rowKey={({ request_id }) => request_id}
        empty={<p className="text-muted">Nothing waits, and every approval was used or is over.</p>}
        isLine
        columns={[
          {
            id: "request",
            header: "Request",
            isRowHeader: true,
            cell: ({ action, tool }) => (
              <>
                <AgentText value={action} isExcerpt />
                <ToolTag tool={tool} />
              </>
            ),
            more: (row) => (
              <>
                <TextLink href={`/portal/authorizations/${row.request_id}`}>Open the request</TextLink>
                <span>
                  For <TextLink href={`/portal/agents/${row.agent_slug}`}>{row.agent_slug}</TextLink>
                </span>
                <span>
                  Approved: {describeState(row)}. {describeRules(row)}.
                </span>
              </>
            ),
          },
          ...amountColumns(rows, sort),
          {
            id: "agent",
            header: "Agent",
            isCut: true,
            maxLines: "four-lines",
            width: "large",
            cell: ({ agent_slug }) => agent_slug,
          },
          { id: "state", header: "Approved", width: "medium", cell: describeState },
          { id: "rules", header: "By current rules", width: "large", cell: describeRules },
          {
            id: "when",
            header: "When",
            width: "medium",
            cell: ({ created_at }) => <ListTime iso={created_at} />,
          },
          ...(stop === null ? [] : [stopColumn(stop)]),
        ]}
      />
      {hasMore ? (
        <p className="mt-3 text-muted text-sm">
          These are the {sort.isSorted ? "first" : "newest"}.{" "}
          <TextLink href="/portal/authorizations">All approvals</TextLink>
        </p>
      ) : null}
    </>
  );
}
