/** Requests of an organization's keys: what was called, how it was answered, how long that took. */
import { Fragment, type ReactNode } from "react";
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

function Operation({ row }: { readonly row: RequestRow }) {
  return (
    <>
      <code className="font-mono text-[13px] [overflow-wrap:anywhere]">
        {row.method} {row.path}
      </code>
      <span className="block font-normal text-muted">
        <HashText value={row.id} label="request id" />
      </span>
    </>
  );
}

/** Breaks after an underscore if it must. */
function ErrorCode({ code }: { readonly code: string }) {
  const parts = code.split(/(?<=_)/);
  return parts.map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function Answer({ row: { status, error_code: code } }: { readonly row: RequestRow }) {
  return (
    <>
      <StatusPill tone={chooseTone(status)}>{status}</StatusPill>
      {code === null ? null : (
        <span className="mt-1 block">
          <TextLink href={`/docs/errors#${code}`}>
            <code className="font-mono text-[13px]">
              <ErrorCode code={code} />
            </code>
          </TextLink>
        </span>
      )}
    </>
  );
}

function Caller({ row: { key, agent_slug: slug } }: { readonly row: RequestRow }) {
  return (
    <>
      {key === null ? (
        <span className="text-muted">unknown</span>
      ) : (
        <AgentText value={key.name} isName hideWarnings />
      )}
      {key?.isTest ? (
        <span className="mt-1 block">
          <TestKeyMark />
        </span>
      ) : null}
      {slug === null ? null : (
        <span className="block text-muted">
          for <TextLink href={`/portal/agents/${slug}`}>{slug}</TextLink>
        </span>
      )}
    </>
  );
}

const columns: readonly Column<RequestRow>[] = [
  { id: "operation", header: "Request", isRowHeader: true, cell: (row) => <Operation row={row} /> },
  { id: "answer", header: "Response", cell: (row) => <Answer row={row} /> },
  {
    id: "took",
    header: "Took",
    numeric: true,
    cell: (row) => <span className="whitespace-nowrap">{row.duration_ms.toLocaleString("en")} ms</span>,
  },
  { id: "key", header: "Key", cell: (row) => <Caller row={row} /> },
  { id: "when", header: "When", cell: (row) => <ListTime iso={row.at.toISOString()} /> },
];

interface RequestTableProps {
  readonly rows: readonly RequestRow[];
  readonly empty: ReactNode;
}

export function RequestTable({ rows, empty }: RequestTableProps) {
  return (
    <DataTable
      caption="Requests, newest first"
      columns={columns}
      rows={rows}
      rowKey={(row) => row.id}
      empty={empty}
    />
  );
}
