/** An agent's public attestations. Rows are taken from the signed bytes. Opening one verifies it. */
import { AgentText } from "#components/agent-text";
import { type AmountSort, amountColumns } from "#components/amount-column";
import { ApprovalPill } from "#components/approval-grades";
import { DecidedLine } from "#components/decided-line";
import { type Column, DataTable } from "#components/ui/data-table";
import { EmptyState } from "#components/ui/empty-state";
import { ListTime } from "#components/ui/local-time";
import { StatusPill } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { WarningPills } from "#components/warning-pills";
import type { FeedEntry } from "#lib/api/schemas/identity";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";

function Approval({ entry }: { readonly entry: FeedEntry }) {
  const { human_approval_method: method, human_approval_environment: environment } = entry;
  if (!isApprovalMethod(method)) return <StatusPill tone="fail">Cannot be read</StatusPill>;
  return <ApprovalPill method={method} {...(environment === null ? {} : { environment })} />;
}

function AgentSigned({ entry }: { readonly entry: FeedEntry }) {
  if (entry.agent_authenticated === null)
    return <span className="text-muted">Not signed with a registered key</span>;
  return entry.agent_authenticated ? "Agent's key" : <span className="text-warn">Wrong key</span>;
}

function Marks({ entry }: { readonly entry: FeedEntry }) {
  return (
    <span className="flex flex-wrap gap-1.5 md:max-w-80">
      <Approval entry={entry} />
      <WarningPills warnings={entry.warnings} />
      <DecidedLine entry={entry} />
    </span>
  );
}

const actionColumn: Column<FeedEntry> = {
  id: "action",
  header: "Action",
  isRowHeader: true,
  cell: (entry) => (
    <span className="block lg:min-w-56">
      <TextLink href={new URL(entry.public_url).pathname}>
        <AgentText value={entry.action ?? "(cannot be read)"} isExcerpt />
      </TextLink>
    </span>
  ),
};

const otherColumns: readonly Column<FeedEntry>[] = [
  { id: "approval", header: "Approval, warnings", cell: (entry) => <Marks entry={entry} /> },
  { id: "identity", header: "Signed by", cell: (entry) => <AgentSigned entry={entry} /> },
  {
    id: "time",
    header: "Recorded",
    cell: (entry) => (entry.timestamp === null ? "unknown" : <ListTime iso={entry.timestamp} />),
  },
];

interface FeedTableProps {
  readonly entries: readonly FeedEntry[];
  readonly isFiltered: boolean;
  readonly sort: AmountSort;
}

export function FeedTable({ entries, isFiltered, sort }: FeedTableProps) {
  const empty = isFiltered ? (
    <EmptyState title="No matching attestations">Remove a filter to see more.</EmptyState>
  ) : (
    <EmptyState title="No public attestation yet">This agent hasn't published any records.</EmptyState>
  );
  return (
    <DataTable
      caption={`Public attestations of this agent, ${sort.isSorted ? "by amount" : "newest first"}`}
      columns={[actionColumn, ...amountColumns(entries, sort), ...otherColumns]}
      rows={entries}
      rowKey={(entry) => entry.attestation_id}
      empty={empty}
    />
  );
}
