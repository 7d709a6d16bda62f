/** The delivery log of a webhook endpoint, newest first. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { BreakableName } from "#components/ui/field-name";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import type { WebhookDelivery } from "#lib/api/schemas/webhooks";
import { formatCount } from "#lib/protocol/text/display-text";

const pills = {
  pending: { tone: "pending", label: "Pending" },
  delivered: { tone: "pass", label: "Delivered" },
  failed: { tone: "fail", label: "Failed" },
} as const;

const explainResult = ({ last_problem, last_status }: WebhookDelivery) =>
  last_problem ?? (last_status === null ? "not sent yet" : `HTTP ${last_status}`);

function buildColumns(
  showUrl: boolean,
  actions: (row: WebhookDelivery) => ReactNode,
): Column<WebhookDelivery>[] {
  return [
    {
      id: "message",
      header: "Message",
      isRowHeader: true,
      cell: (row) => <BreakableName name={row.type} />,
      more: (row) => (
        <>
          <code className="font-mono text-[13px] [overflow-wrap:anywhere]">{row.message_id}</code>
          {showUrl && row.url !== null ? <AgentText value={row.url} hideWarnings /> : null}
          <span>
            {explainResult(row)}, {formatCount(row.attempts, "attempt")}
          </span>
          {row.next_attempt_at === null || row.last_problem === null ? null : (
            <span>
              Next attempt <ListTime iso={row.next_attempt_at} />
            </span>
          )}
        </>
      ),
    },
    {
      id: "result",
      header: "Result",
      isShort: true,
      width: "huge",
      cell: (row) => (
        <>
          <StatusPill tone={pills[row.status].tone}>{pills[row.status].label}</StatusPill>{" "}
          <span className="text-muted">{explainResult(row)}</span>
        </>
      ),
    },
    { id: "attempts", header: "Attempts", width: "small", numeric: true, cell: ({ attempts }) => attempts },
    {
      id: "created",
      header: "Created",
      width: "medium",
      cell: ({ created_at }) => <ListTime iso={created_at} />,
    },
    {
      id: "actions",
      header: "Actions",
      width: "large",
      cell: (row) => (row.status === "pending" ? <span className="text-muted">none</span> : actions(row)),
    },
  ];
}

interface DeliveryTableProps {
  readonly rows: readonly WebhookDelivery[];
  /** Callbacks go to an address each. */
  readonly showUrl: boolean;
  readonly actions: (row: WebhookDelivery) => ReactNode;
  readonly empty: ReactNode;
}

export function DeliveryTable({ rows, showUrl, actions, empty }: DeliveryTableProps) {
  return (
    <DataTable
      caption="Deliveries, newest first"
      isLine
      columns={buildColumns(showUrl, actions)}
      rows={rows}
      rowKey={({ message_id }) => message_id}
      empty={empty}
    />
  );
}
