/** The keys and agents of the overview that did most in 30 days. */

import { AgentText } from "#components/agent-text";
import { type Column, DataTable } from "#components/ui/data-table";
import { TextLink } from "#components/ui/text-link";
import type { Usage } from "#lib/api/schemas/portal";
import { UsageWords } from "./usage-words";

export interface BusyKey {
  readonly id: string;
  readonly name: string;
  readonly attestations: Usage;
  readonly requests: Usage;
}

export interface BusyAgent {
  readonly slug: string;
  readonly attestations: Usage;
}

const nothing = <p className="py-2 text-muted">Nothing in the last 30 days.</p>;

const keyColumns: readonly Column<BusyKey>[] = [
  {
    id: "key",
    header: "Key",
    isRowHeader: true,
    cell: ({ id, name }) => (
      <TextLink href={`/portal/requests?key=${id}`}>
        <AgentText value={name} isName hideWarnings />
      </TextLink>
    ),
  },
  { id: "attestations", header: "Attestations", cell: (row) => <UsageWords usage={row.attestations} /> },
  { id: "requests", header: "Requests", cell: (row) => <UsageWords usage={row.requests} /> },
];

const agentColumns: readonly Column<BusyAgent>[] = [
  {
    id: "agent",
    header: "Agent",
    isRowHeader: true,
    cell: ({ slug }) => <TextLink href={`/portal/agents/${slug}`}>{slug}</TextLink>,
  },
  { id: "attestations", header: "Attestations", cell: (row) => <UsageWords usage={row.attestations} /> },
];

export function BusiestKeys({ rows }: { readonly rows: readonly BusyKey[] }) {
  return (
    <DataTable
      caption="Busiest keys"
      columns={keyColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={nothing}
    />
  );
}

export function BusiestAgents({ rows }: { readonly rows: readonly BusyAgent[] }) {
  return (
    <DataTable
      caption="Busiest agents"
      columns={agentColumns}
      rows={rows}
      rowKey={({ slug }) => slug}
      empty={nothing}
    />
  );
}
