/** Actions with actor, time, and key or session. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { AddressText } from "#components/portal/address-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import type { ActorKind } from "#lib/api/schemas/portal";

export interface AuditRow {
  readonly id: string;
  readonly at: string;
  readonly actorKind: ActorKind;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: string | null;
  readonly ip: string | null;
  readonly session: string | null;
}

export const actorWords = {
  user: "Person",
  key: "API key",
  human: "Person asked to decide",
  system: "The service",
} as const satisfies Record<ActorKind, string>;

/** Breaks after the dot if it must: authorization.cancelled is wider than a narrow phone's column. */
function ActionName({ name }: { readonly name: string }) {
  const verbAt = name.indexOf(".") + 1;
  return (
    <>
      {name.slice(0, verbAt)}
      <wbr />
      {name.slice(verbAt)}
    </>
  );
}

const columns: readonly Column<AuditRow>[] = [
  {
    id: "what",
    header: "What",
    isRowHeader: true,
    cell: (row) => (
      <>
        <code className="font-mono text-[13px]">
          <ActionName name={row.action} />
        </code>{" "}
        <span className="font-normal text-muted">
          <AddressText value={row.subject} />
        </span>
      </>
    ),
    more: (row) => (
      <>
        <span className="[overflow-wrap:anywhere]">
          About <AddressText value={row.subject} />
        </span>
        <span>
          {actorWords[row.actorKind]}
          {row.session === null ? "" : `, ${row.session}`}
        </span>
        {row.detail === null ? null : (
          <AgentText value={row.detail} hideWarnings className="font-mono text-[13px]" />
        )}
      </>
    ),
  },
  {
    id: "who",
    header: "Who",
    isShort: true,
    width: "huge",
    cell: (row) => <AddressText value={row.actor} />,
  },
  {
    id: "from",
    header: "From",
    isCut: true,
    width: "large",
    cell: (row) => row.ip ?? <span className="text-muted">inside the service</span>,
  },
  { id: "when", header: "When", width: "medium", cell: (row) => <ListTime iso={row.at} /> },
];

export function AuditTable({
  rows,
  empty,
}: {
  readonly rows: readonly AuditRow[];
  readonly empty: ReactNode;
}) {
  return (
    <DataTable
      caption="Events, newest first"
      isLine
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
