/** The delivery log of a webhook endpoint, newest first. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import type { WebhookDelivery } from "#lib/api/schemas/webhooks";
import { EventName } from "./event-name";

const pills = {
  pending: { tone: "pending", label: "Pending" },
  delivered: { tone: "pass", label: "Delivered" },
  failed: { tone: "fail", label: "Failed" },
} as const;

function Result({ row }: { readonly row: WebhookDelivery }) {
  const { tone, label } = pills[row.status];
  return (
    <>
      <StatusPill tone={tone}>{label}</StatusPill>
      <span className="mt-1 block text-muted">
        {row.last_problem ?? (row.last_status === null ? "not sent yet" : `HTTP ${row.last_status}`)}
      </span>
      {row.next_attempt_at === null || row.last_problem === null ? null : (
        <span className="block text-muted">
          next attempt <ListTime iso={row.next_attempt_at} />
        </span>
      )}
    </>
  );
}

function buildColumns(
  showUrl: boolean,
  actions: (row: WebhookDelivery) => ReactNode,
): Column<WebhookDelivery>[] {
  return [
    {
      id: "message",
      header: "Message",
      isRowHeader: true,
      cell: (row) => (
        <>
          <EventName name={row.type} />
          <code className="block font-mono font-normal text-[13px] text-muted [overflow-wrap:anywhere]">
            {row.message_id}
          </code>
          {showUrl && row.url !== null ? (
            <AgentText value={row.url} hideWarnings className="font-normal" />
          ) : null}
        </>
      ),
    },
    {
      id: "created",
      header: "Created",
      cell: ({ created_at }) => <ListTime iso={created_at} />,
    },
    { id: "result", header: "Result", cell: (row) => <Result row={row} /> },
    { id: "attempts", header: "Attempts", numeric: true, cell: ({ attempts }) => attempts },
    {
      id: "actions",
      header: "Actions",
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
      columns={buildColumns(showUrl, actions)}
      rows={rows}
      rowKey={({ message_id }) => message_id}
      empty={empty}
    />
  );
}
