/** An organization's agents. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { UsageWords } from "#components/portal/overview/usage-words";
import { type Column, DataTable } from "#components/ui/data-table";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { Usage } from "#lib/api/schemas/portal";

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

const buildColumns = (
  usage: ReadonlyMap<string, Usage>,
  isTestSaid: boolean,
): readonly Column<AgentRow>[] => [
  {
    id: "agent",
    header: "Agent",
    isRowHeader: true,
    cell: (row) => (
      <>
        <TextLink href={`/portal/agents/${row.slug}`}>{row.slug}</TextLink>
        {row.name === null ? null : (
          <span className="ml-1.5 font-normal text-muted">
            <AgentText value={row.name} isName hideWarnings />
          </span>
        )}
        {row.frozenAt === null ? null : (
          <span className="ml-1.5">
            <StatusPill tone="fail">Frozen</StatusPill>
          </span>
        )}
        {row.isTest && !isTestSaid ? (
          <span className="ml-1.5">
            <TestKeyMark />
          </span>
        ) : null}
      </>
    ),
  },
  { id: "key", header: "Key", width: "large", cell: (row) => <KeyStatusPill status={row.keyStatus} /> },
  {
    id: "code",
    header: "Code hash",
    isCut: true,
    width: "small",
    cell: (row) => (row.hasCodeHash ? "registered" : "none"),
  },
  { id: "tools", header: "Tools", numeric: true, width: "small", cell: (row) => row.tools ?? "none" },
  {
    id: "attestations",
    header: "Attestations",
    numeric: true,
    width: "medium",
    cell: (row) => row.attestations,
  },
  {
    id: "usage",
    header: "Recent attestations",
    isCut: true,
    width: "huge",
    cell: (row) => <UsageWords usage={usage.get(row.slug.toLowerCase())} />,
  },
];

export function AgentTable({
  rows,
  usage,
  empty,
  isTestSaid = false,
}: {
  readonly rows: readonly AgentRow[];
  /** Keyed by slug in lower case. */
  readonly usage: ReadonlyMap<string, Usage>;
  readonly empty: ReactNode;
  /** The page says once that this instance makes TEST approvals. */
  readonly isTestSaid?: boolean;
}) {
  return (
    <DataTable
      caption="Agents"
      columns={buildColumns(usage, isTestSaid)}
      rows={rows}
      rowKey={(row) => row.slug}
      isLine
      empty={empty}
    />
  );
}
