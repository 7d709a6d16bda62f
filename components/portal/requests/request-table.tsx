/** Requests of an organization's keys: what was called, how it was answered, how long that took. */
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import { TestKeyMark } from "#components/portal/keys/test-key-mark";
import { HashText } from "#components/ui/code-block";
import { type Column, DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { StatusPill, type Tone } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";

export interface RequestRow {
  readonly id: string;
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly error_code: string | null;
  readonly agent_slug: string | null;
  readonly key: { readonly name: string; readonly isTest: boolean } | null;
}

function chooseTone(status: number): Tone {
  if (status >= 500) return "fail";
  return status >= 400 ? "warn" : "pass";
}

const columns: readonly Column<RequestRow>[] = [
  {
    id: "operation",
    header: "Request",
    isRowHeader: true,
    cell: ({ method, path }) => (
      <code className="font-mono text-[13px]">
        {method} {path}
      </code>
    ),
    more: ({ id, method, path, agent_slug: slug, error_code: code, key }) => (
      <>
        <code className="font-mono text-[13px] [overflow-wrap:anywhere]">
          {method} {path}
        </code>
        <HashText value={id} label="request id" />
        {key?.isTest ? (
          <span>
            <TestKeyMark />
          </span>
        ) : null}
        {slug === null ? null : (
          <span>
            For <TextLink href={`/portal/agents/${slug}`}>{slug}</TextLink>
          </span>
        )}
        {code === null ? null : <TextLink href={`/docs/errors#${code}`}>What {code} means</TextLink>}
      </>
    ),
  },
  {
    id: "answer",
    header: "Response",
    isShort: true,
    width: "huge",
    cell: ({ status, error_code: code }) => (
      <span className="inline-flex flex-wrap items-center gap-x-1.5">
        <StatusPill tone={chooseTone(status)}>{status}</StatusPill>
        {code === null ? null : <code className="font-mono text-[13px]">{code}</code>}
      </span>
    ),
  },
  {
    id: "took",
    header: "Took",
    numeric: true,
    width: "small",
    cell: (row) => `${row.duration_ms.toLocaleString("en")} ms`,
  },
  {
    id: "key",
    header: "Key",
    isCut: true,
    width: "large",
    cell: ({ key }) =>
      key === null ? (
        <span className="text-muted">unknown</span>
      ) : (
        <AgentText value={key.name} isName hideWarnings />
      ),
  },
  { id: "when", header: "When", width: "medium", cell: (row) => <ListTime iso={row.at.toISOString()} /> },
];

interface RequestTableProps {
  readonly rows: readonly RequestRow[];
  readonly empty: ReactNode;
}

export function RequestTable({ rows, empty }: RequestTableProps) {
  return (
    <DataTable
      caption="Requests, newest first"
      isLine
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
