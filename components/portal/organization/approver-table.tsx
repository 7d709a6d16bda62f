/** The people whom requests can name. */

import { ActionDialog } from "#components/portal/forms/action-dialog";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import type { FormAction } from "#lib/contract/portal";

export interface Approver {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly status: "invited" | "confirmed" | "left" | "removed";
}

const words = {
  invited: { tone: "pending", text: "Not accepted yet" },
  confirmed: { tone: "pass", text: "Accepted" },
  left: { tone: "neutral", text: "Unsubscribed" },
  removed: { tone: "neutral", text: "Removed" },
} as const;

interface ApproverTableProps {
  readonly people: readonly Approver[];
  /** Owners only. */
  readonly remove: FormAction | null;
}

export function ApproverTable({ people, remove }: ApproverTableProps) {
  const columns: readonly Column<Approver>[] = [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      cell: (row) => <span className="[overflow-wrap:anywhere]">{row.name}</span>,
    },
    {
      id: "email",
      header: "E-mail address",
      cell: (row) => <span className="[overflow-wrap:anywhere]">{row.email}</span>,
    },
    {
      id: "status",
      header: "State",
      cell: ({ status }) => <StatusPill tone={words[status].tone}>{words[status].text}</StatusPill>,
    },
    {
      id: "actions",
      header: "Actions",
      cell: (row) =>
        remove === null ? (
          <span className="text-muted">none</span>
        ) : (
          <ActionDialog
            triggerLabel={
              <>
                Remove<span className="sr-only"> {row.name}</span>
              </>
            }
            title="Remove approver"
            description={`${row.name} gets no more e-mails from this organization. Requests that name them are refused.`}
            action={remove}
            fields={{ approver_id: row.id }}
            confirmLabel="Remove"
          />
        ),
    },
  ];
  return (
    <DataTable
      caption="Approvers"
      columns={columns}
      rows={people}
      rowKey={(row) => row.id}
      empty={<p className="py-4 text-muted">No approvers yet.</p>}
    />
  );
}
