/** An organization's agents. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { type Usage, UsageWords } from "#components/portal/overview/usage-words";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";

export type KeyStatus = "none" | "unproven" | "proven";

export interface AgentRow {
  readonly slug: string;
  readonly name: string | null;
  readonly isTest: boolean;
  readonly keyStatus: KeyStatus;
  readonly frozenAt: string | null;
  readonly hasCodeHash: boolean;
  readonly tools: number | null;
  readonly attestations: number;
}

/** The one way to say how well an agent's key is known. */
export function KeyStatusPill({ status }: { readonly status: KeyStatus }) {
  switch (status) {
    case "none":
      return <StatusPill tone="neutral">No key</StatusPill>;
    case "unproven":
      return <StatusPill tone="warn">Key unproven</StatusPill>;
    case "proven":
      return <StatusPill tone="pass">Key proven</StatusPill>;
  }
}

const buildColumns = (usage: ReadonlyMap<string, Usage>): readonly Column<AgentRow>[] => [
  {
    id: "agent",
    header: "Agent",
    isRowHeader: true,
    cell: (row) => (
      <>
        <TextLink href={`/portal/agents/${row.slug}`}>{row.slug}</TextLink>
        {row.frozenAt === null ? null : (
          <span className="mt-1 block">
            <StatusPill tone="fail">Frozen</StatusPill>
          </span>
        )}
        {row.isTest ? (
          <span className="mt-1 block">
            <TestKeyMark />
          </span>
        ) : null}
        {row.name === null ? null : (
          <span className="block font-normal text-muted">
            <AgentText value={row.name} isName />
          </span>
        )}
      </>
    ),
  },
  { id: "key", header: "Key", cell: (row) => <KeyStatusPill status={row.keyStatus} /> },
  { id: "code", header: "Code hash", cell: (row) => (row.hasCodeHash ? "registered" : "none") },
  { id: "tools", header: "Tools", numeric: true, cell: (row) => row.tools ?? "none" },
  { id: "attestations", header: "Attestations", numeric: true, cell: (row) => row.attestations },
  {
    id: "usage",
    header: "Recent attestations",
    cell: (row) => <UsageWords usage={usage.get(row.slug.toLowerCase())} />,
  },
];

export function AgentTable({
  rows,
  usage,
  empty,
}: {
  readonly rows: readonly AgentRow[];
  /** By slug in lower case. */
  readonly usage: ReadonlyMap<string, Usage>;
  readonly empty: ReactNode;
}) {
  return (
    <DataTable
      caption="Agents"
      columns={buildColumns(usage)}
      rows={rows}
      rowKey={(row) => row.slug}
      empty={empty}
    />
  );
}
