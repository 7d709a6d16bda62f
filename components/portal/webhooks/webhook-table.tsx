/** An organization's webhook endpoints. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { Webhook } from "#lib/api/schemas/webhooks";

const reasons = {
  owner: "Disabled",
  gone: "Disabled: it answered 410",
  failing: "Disabled: it failed for days",
} as const;

export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const { enabled, disabled_reason, failing_since } = webhook;
  if (!enabled) return <StatusPill tone="cancelled">{reasons[disabled_reason ?? "owner"]}</StatusPill>;
  return failing_since === null ? (
    <StatusPill tone="pass">Enabled</StatusPill>
  ) : (
    <StatusPill tone="warn">Failing</StatusPill>
  );
}

const columns: readonly Column<Webhook>[] = [
  {
    id: "url",
    header: "URL",
    isRowHeader: true,
    cell: ({ id, url }) => (
      <TextLink href={`/portal/webhooks/${id}`}>
        <AgentText value={url ?? "Callbacks"} hideWarnings />
      </TextLink>
    ),
  },
  {
    id: "events",
    header: "Events",
    isCut: true,
    width: "huge",
    cell: ({ events }) => <span title={events.join(", ")}>{events.join(", ")}</span>,
  },
  { id: "state", header: "State", width: "huge", cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    id: "created",
    header: "Created",
    width: "medium",
    cell: ({ created_at }) => <ListTime iso={created_at} />,
  },
];

interface WebhookTableProps {
  readonly rows: readonly Webhook[];
  readonly empty: ReactNode;
}

export function WebhookTable({ rows, empty }: WebhookTableProps) {
  return (
    <DataTable
      caption="Webhook endpoints"
      isLine
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={empty}
    />
  );
}
