/** An organization's API keys. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { AddressText } from "#components/portal/address-text";
import { UsageWords } from "#components/portal/overview/usage-words";
import { HashText } from "#components/ui/code-block";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import type { Usage } from "#lib/api/schemas/portal";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly shownAs: string;
  readonly scopes: readonly string[];
  readonly isTest: boolean;
  /** The key's own limit; null: only its organization's. */
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
  return row.isTest ? (
    <StatusPill tone="test">TEST key</StatusPill>
  ) : (
    <StatusPill tone="pass">Live</StatusPill>
  );
}

const never = <span className="text-muted">never</span>;

type KeyUsages = ReadonlyMap<string, { readonly attestations: Usage; readonly requests: Usage }>;

function buildColumns(actions: (row: KeyRow) => ReactNode, usage: KeyUsages): readonly Column<KeyRow>[] {
  return [
    {
      id: "name",
      header: "Key",
      isRowHeader: true,
      cell: (row) => (
        <>
          <AgentText value={row.name} isName />{" "}
          <code className="font-mono font-normal text-[13px] text-muted">{row.shownAs}</code>
        </>
      ),
      more: (row) => (
        <>
          <span>
            By <AddressText value={row.email} />, <ListTime iso={row.createdAt} />
          </span>
          <span>Permissions: {row.scopes.join(", ")}</span>
          {row.attestationsPerDay === null ? null : (
            <span>At most {formatCount(row.attestationsPerDay, "attestation")} a day</span>
          )}
          <UsageWords usage={usage.get(row.id)?.attestations} of="attestations" />
          <UsageWords usage={usage.get(row.id)?.requests} of="requests" />
          {row.lastUsedAt === null ? null : <span>Last used from {row.lastUsedFrom ?? "unknown"}</span>}
          <HashText value={row.id} label={`id of ${toVisibleText(row.name)}`} />
        </>
      ),
    },
    {
      id: "scopes",
      header: "Permissions",
      isCut: true,
      width: "large",
      cell: (row) => row.scopes.join(", "),
    },
    { id: "state", header: "State", width: "medium", cell: (row) => <KeyState row={row} /> },
    {
      id: "used",
      header: "Last used",
      width: "medium",
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? never : <ListTime iso={lastUsedAt} />),
    },
    {
      id: "until",
      header: "Expires",
      width: "medium",
      cell: ({ expiresAt }) => (expiresAt === null ? never : <ListTime iso={expiresAt} />),
    },
    {
      id: "actions",
      header: "Actions",
      width: "huge",
      cell: (row) => (row.state === "live" ? actions(row) : <span className="text-muted">none</span>),
    },
  ];
}

interface KeyTableProps {
  readonly rows: readonly KeyRow[];
  /** Keyed by key id. */
  readonly usage: KeyUsages;
  readonly actions: (row: KeyRow) => ReactNode;
  readonly empty: ReactNode;
}

export function KeyTable({ rows, usage, actions, empty }: KeyTableProps) {
  return (
    <DataTable
      caption="API keys"
      isLine
      columns={buildColumns(actions, usage)}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
