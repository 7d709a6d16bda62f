/** The newest keys of an agent, newest first; `rows` are oldest first, as the API gives them. */

import { HashText } from "#components/ui/code-block";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";

export interface AgentKeyRow {
  readonly public_key: string;
  readonly status: "unproven" | "proven";
  readonly registered_at: string;
  readonly proven_at: string | null;
  readonly retired_at: string | null;
}

function instant(iso: string | null) {
  return iso === null ? <span className="text-muted">no</span> : <ListTime iso={iso} />;
}

const columns: readonly Column<AgentKeyRow>[] = [
  {
    id: "key",
    header: "Public key",
    isRowHeader: true,
    cell: (row) => <HashText value={row.public_key} label="public key" />,
  },
  {
    id: "state",
    header: "State",
    width: "large",
    cell: (row) =>
      row.retired_at !== null ? (
        <StatusPill tone="cancelled">Retired</StatusPill>
      ) : (
        <StatusPill tone={row.status === "proven" ? "pass" : "warn"}>
          {row.status === "proven" ? "In use, proven" : "In use, unproven"}
        </StatusPill>
      ),
  },
  { id: "since", header: "Registered", width: "medium", cell: (row) => instant(row.registered_at) },
  { id: "proven", header: "Proven", width: "medium", cell: (row) => instant(row.proven_at) },
  { id: "until", header: "Retired", width: "medium", cell: (row) => instant(row.retired_at) },
];

export function AgentKeyHistory({ rows }: { readonly rows: readonly AgentKeyRow[] }) {
  return (
    <DataTable
      caption="Keys of this agent, newest first"
      isLine
      columns={columns}
      rows={rows.toReversed()}
      rowKey={(row) => row.registered_at}
      empty={
        <p className="text-muted">
          No keys yet. Without one, attestations under this slug show that your organization created them, not
          that this agent did.
        </p>
      }
    />
  );
}
