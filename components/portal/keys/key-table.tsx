/** An organization's API keys. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { AddressText } from "#components/portal/address-text";
import { type Usage, UsageWords } from "#components/portal/overview/usage-words";
import { HashText } from "#components/ui/code-block";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly shownAs: string;
  readonly scopes: readonly string[];
  readonly isTest: boolean;
  /** Its own limit; null: its organization's alone. */
  readonly attestationsPerDay: number | null;
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly lastUsedFrom: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

function KeyState({ row }: { readonly row: KeyRow }) {
  if (row.state === "revoked") return <StatusPill tone="cancelled">Revoked</StatusPill>;
  if (row.state === "expired") return <StatusPill tone="warn">Expired</StatusPill>;
  return (
    <>
      {row.isTest ? <StatusPill tone="test">TEST key</StatusPill> : <StatusPill tone="pass">Live</StatusPill>}
      <span className="mt-1 block text-muted">
        {row.expiresAt === null ? (
          "does not expire"
        ) : (
          <>until {row.expiresAt.slice(0, 16).replace("T", " ")} UTC</>
        )}
      </span>
      {row.attestationsPerDay === null ? null : (
        <span className="block text-muted">
          at most {formatCount(row.attestationsPerDay, "attestation")} a day
        </span>
      )}
    </>
  );
}

function LastUse({ row }: { readonly row: KeyRow }) {
  if (row.lastUsedAt === null) return <span className="text-muted">never</span>;
  return (
    <>
      <ListTime iso={row.lastUsedAt} />
      <span className="block text-muted [overflow-wrap:anywhere]">from {row.lastUsedFrom ?? "unknown"}</span>
    </>
  );
}

type KeyUsages = ReadonlyMap<string, { readonly attestations: Usage; readonly requests: Usage }>;

function buildColumns(actions: (row: KeyRow) => ReactNode, usage: KeyUsages): readonly Column<KeyRow>[] {
  return [
    {
      id: "name",
      header: "Key",
      isRowHeader: true,
      cell: (row) => (
        <>
          <AgentText value={row.name} isName />
          <code className="block whitespace-nowrap font-mono font-normal text-[13px] text-muted">
            {row.shownAs}
          </code>
          <span className="block font-normal text-muted">
            <HashText value={row.id} label={`id of ${toVisibleText(row.name)}`} />
          </span>
          <span className="block font-normal text-muted">
            <AddressText value={row.email} />
          </span>
        </>
      ),
    },
    { id: "scopes", header: "Permissions", cell: (row) => row.scopes.join(", ") },
    { id: "state", header: "State", cell: (row) => <KeyState row={row} /> },
    {
      id: "usage",
      header: "Usage",
      cell: ({ id }) => (
        <>
          <UsageWords usage={usage.get(id)?.attestations} of="attestations" />
          <UsageWords usage={usage.get(id)?.requests} of="requests" />
        </>
      ),
    },
    { id: "used", header: "Last used", cell: (row) => <LastUse row={row} /> },
    {
      id: "actions",
      header: "Actions",
      cell: (row) => (row.state === "live" ? actions(row) : <span className="text-muted">none</span>),
    },
  ];
}

interface KeyTableProps {
  readonly rows: readonly KeyRow[];
  /** By key id. */
  readonly usage: KeyUsages;
  readonly actions: (row: KeyRow) => ReactNode;
  readonly empty: ReactNode;
}

export function KeyTable({ rows, usage, actions, empty }: KeyTableProps) {
  return (
    <DataTable
      caption="API keys"
      columns={buildColumns(actions, usage)}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
