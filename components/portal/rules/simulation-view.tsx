/** "What would this have changed?": the requests that would go another way under other rules. */

import { useState } from "react";
import { AgentText } from "#components/agent-text";
import { AmountOrder, amountColumns, sortByAmount } from "#components/amount-column";
import { Callout } from "#components/ui/callout";
import { DataTable } from "#components/ui/data-table";
import { ListTime } from "#components/ui/local-time";
import { ToolTag } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import type { SimulateResponse } from "#lib/api/schemas/rules";
import { formatCount } from "#lib/protocol/text/display-text";
import { RulesWarnings } from "./rules-warnings";

type Difference = SimulateResponse["differences"][number];

const words = { allowed: "allowed without asking", asked: "people asked", denied: "denied" } as const;

function writeDemands({ demands }: Difference): string {
  if (demands === null) return "";
  const groups = demands.groups.map(({ group, count }) => `${formatCount(count, "member")} of ${group}`);
  const { level: least } = demands;
  const level = least === null ? [] : [least === "none" ? "by passkey" : `World ID: ${least}`];
  return [
    ...groups,
    ...(groups.length === 0 ? [formatCount(demands.approvals, "approval")] : []),
    ...level,
  ].join(", ");
}

function writeReason({ policy_ids, reason }: Difference): string {
  if (reason === "nothing_permits") return "no rule permits it";
  return `${reason === "evaluation_error" ? "can't be evaluated: " : ""}${policy_ids.join(", ")}`;
}

const shown = 100;

function describeDifferences({ requests, differences: { length } }: SimulateResponse): string {
  if (requests === 0) return "There are no requests yet to compare with";
  if (requests === 1) return `Your last request would go ${length === 0 ? "the same" : "another"} way`;
  return `${length} of your last ${requests} requests would go another way`;
}

function Summary({ simulation }: { readonly simulation: SimulateResponse }) {
  const { requests, erased, differences, would, unused, warnings } = simulation;
  const more = differences.filter(({ was, would: then }) => was === then).length;
  const stricter = more === 0 ? "" : ` (${more} with more required)`;
  const left = erased === 0 ? "" : ` ${formatCount(erased, "erased request")} could not be evaluated.`;
  return (
    <>
      <Callout tone={differences.length === 0 ? "info" : "warn"} title={describeDifferences(simulation)}>
        {requests === 0 ? null : (
          <p>
            {would.allowed} allowed without asking, {would.asked} with people asked{stricter}, {would.denied}{" "}
            denied.
            {left}
          </p>
        )}
      </Callout>
      <RulesWarnings warnings={warnings} />
      {unused.length === 0 || requests === 0 ? null : (
        <Callout tone="warn" title={`Decided nothing: ${unused.join(", ")}`}>
          If you expected a rule to apply, check its names: tools and agents are compared exactly.
        </Callout>
      )}
    </>
  );
}

export function SimulationView({ simulation }: { readonly simulation: SimulateResponse }) {
  const [isSorted, setIsSorted] = useState(false);
  const { differences } = simulation;
  const listed = isSorted ? sortByAmount(differences) : differences;
  const rows = listed.slice(0, shown);
  const more = listed.length - rows.length;
  return (
    <section aria-label="What would this have changed?" className="flex flex-col gap-4">
      <Summary simulation={simulation} />
      {differences.some(({ amount }) => amount !== null) ? (
        <AmountOrder isSorted={isSorted} onSort={setIsSorted} />
      ) : null}
      <DataTable
        caption="Requests that would go another way"
        rows={rows}
        rowKey={(row) => row.request_id}
        empty={null}
        isLine
        columns={[
          {
            id: "request",
            header: "Request",
            isRowHeader: true,
            cell: (row) => (
              <>
                <AgentText value={row.action} isExcerpt />
                <ToolTag tool={row.tool} />
              </>
            ),
            more: (row) => (
              <>
                <span>
                  By {row.agent_slug}.{" "}
                  <TextLink href={`/portal/authorizations/${row.request_id}`}>Open</TextLink>
                </span>
                <span>
                  {words[row.would]}
                  {writeDemands(row) === "" ? "" : `: ${writeDemands(row)}`}. {writeReason(row)}
                </span>
              </>
            ),
          },
          ...amountColumns(rows),
          { id: "was", header: "Was", isShort: true, width: "large", cell: (row) => words[row.was] },
          {
            id: "would",
            header: "Would be",
            isShort: true,
            width: "huge",
            cell: (row) =>
              row.was === row.would ? (
                <strong className="font-medium">{writeDemands(row)}</strong>
              ) : (
                <>
                  <strong className="font-medium">{words[row.would]}</strong>{" "}
                  <span className="text-muted">{writeDemands(row)}</span>
                </>
              ),
          },
          { id: "when", header: "When", width: "medium", cell: (row) => <ListTime iso={row.created_at} /> },
        ]}
      />
      {more > 0 ? <p className="text-muted text-sm">And {more} more.</p> : null}
    </section>
  );
}
