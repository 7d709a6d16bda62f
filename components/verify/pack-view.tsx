"use client";
/** Findings of this browser in an evidence pack: the verdict, the report of its entries, and each check. */
import { useMemo, useState } from "react";
import { AgentText } from "#components/agent-text";
import { AmountOrder, sortByAmount } from "#components/amount-column";
import { Button } from "#components/ui/button";
import { Callout, type CalloutTone } from "#components/ui/callout";
import { type Column, DataTable } from "#components/ui/data-table";
import { DefinitionList } from "#components/ui/definition-list";
import { Money } from "#components/ui/money";
import { StatusPill, type Tone } from "#components/ui/status-pill";
import type { PackFacts } from "#lib/protocol/pack/pack-manifest";
import type { PackCheck } from "#lib/protocol/pack/pack-reasons";
import {
  describeAction,
  describeDecision,
  describeDecisionCounts,
  type PackRow,
  type PackSum,
} from "#lib/protocol/pack/pack-rows";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { PdfButton } from "./pdf-button";
import type { PdfCell, PdfColumn, PdfDocument } from "./pdf-document";
import type { CheckedPack } from "./run-pack";
import { saveFile } from "./save-pdf";

const tones: Record<CheckedPack["verdict"], CalloutTone> = {
  valid: "pass",
  incomplete: "warn",
  invalid: "fail",
};
const titles: Record<CheckedPack["verdict"], string> = {
  valid: "Pack verified",
  incomplete: "Pack verified as far as it goes",
  invalid: "This pack failed verification",
};
const answers: Record<PackCheck["status"], { tone: Tone; text: string }> = {
  pass: { tone: "pass", text: "pass" },
  fail: { tone: "fail", text: "fail" },
  not_run: { tone: "fail", text: "not run" },
  not_applicable: { tone: "unknown", text: "can't be checked from this file" },
};

const pageSize = 25;

const describePeriod = ({ period: { from, to } }: PackFacts) =>
  `${readableTime(from)} to ${readableTime(to)}`;

function describeNumbers({ record: { first, last, head } }: PackFacts): string {
  return last < first ? "none" : `${first} to ${last} of ${head}`;
}

function describeMade({ counts: { attestations, decisions } }: PackFacts): string {
  return `${formatCount(attestations.total, "attestation")}; ${describeDecisionCounts(decisions)}, frozen ${formatCount(decisions.frozen, "time")}`;
}

const agentItems = (facts: PackFacts) => [
  { id: "period", name: "Period", value: describePeriod(facts) },
  { id: "numbers", name: "Numbers in its record", value: describeNumbers(facts) },
  { id: "made", name: "Entries", value: describeMade(facts) },
];

const sumColumns = (isOfSeveral: boolean): Column<PackSum>[] => [
  { id: "kind", header: "Kind", cell: ({ kind }) => kind, isRowHeader: true },
  ...(isOfSeveral
    ? [
        {
          id: "agent",
          header: "Agent",
          cell: ({ agent }: PackSum) => (agent === null ? "all" : <AgentText value={agent} isName />),
        },
      ]
    : []),
  { id: "count", header: "Count", cell: ({ count }) => count, numeric: true },
  {
    id: "sum",
    header: "Sum",
    cell: ({ sum }) => (
      <b>
        <Money {...sum} />
      </b>
    ),
    numeric: true,
  },
];

const textOrNothing = (text: string | null) =>
  text === null || text === "" ? null : <AgentText value={text} hideWarnings />;

const rowColumns = (isOfSeveral: boolean): Column<PackRow>[] => [
  { id: "number", header: "Number", cell: ({ number }) => number, numeric: true },
  {
    id: "time",
    header: "Time",
    cell: ({ time }) =>
      time === null ? null : <span className="md:block md:min-w-20">{readableTime(time)}</span>,
  },
  ...(isOfSeveral
    ? [{ id: "agent", header: "Agent", cell: ({ agent }: PackRow) => <AgentText value={agent} isName /> }]
    : []),
  {
    id: "amount",
    header: "Amount",
    cell: ({ amount }) =>
      amount === null ? null : (
        <b>
          <Money {...amount} />
        </b>
      ),
    numeric: true,
  },
  {
    id: "payee",
    header: "Payee",
    cell: ({ payee }) =>
      payee ? <span className="md:block md:min-w-20">{textOrNothing(payee)}</span> : null,
  },
  {
    id: "action",
    header: "Action",
    cell: (row) => (
      <>
        {row.action === null ? (
          <span className="text-muted">{row.missing || row.kind}</span>
        ) : (
          textOrNothing(describeAction(row))
        )}
      </>
    ),
    isRowHeader: true,
  },
  {
    id: "decided",
    header: "Decided by",
    cell: (row) => (
      <>
        {textOrNothing(describeDecision(row))}
        {row.approvers === "" ? null : (
          <span className="block text-muted">{textOrNothing(row.approvers)}</span>
        )}
        {row.isTest ? (
          <span className="mt-0.5 block">
            <StatusPill tone="test">TEST</StatusPill>
          </span>
        ) : null}
      </>
    ),
  },
  {
    id: "rule",
    header: "Rule",
    cell: ({ rule }) =>
      rule === "" ? null : <span className="md:block md:min-w-24">{textOrNothing(rule)}</span>,
  },
  { id: "use", header: "Standing approval", cell: ({ use }) => textOrNothing(use) },
  {
    id: "warnings",
    header: "Warnings",
    cell: ({ warnings }) =>
      warnings.length === 0 ? null : (
        <span className="font-medium text-warn">
          {warnings.map((code) => code.replaceAll("_", " ")).join(", ")}
        </span>
      ),
  },
];

/** Columns that are left out if no entry has anything in them. */
const isUsed: Record<string, (rows: readonly PackRow[]) => boolean> = {
  amount: (rows) => rows.some(({ amount }) => amount !== null),
  payee: (rows) => rows.some(({ payee }) => payee !== null),
  rule: (rows) => rows.some(({ rule }) => rule !== ""),
  use: (rows) => rows.some(({ use }) => use !== ""),
  warnings: (rows) => rows.some(({ warnings }) => warnings.length > 0),
};

function Entries({
  rows,
  isOfSeveral,
}: {
  readonly rows: readonly PackRow[];
  readonly isOfSeveral: boolean;
}) {
  const [from, setFrom] = useState(0);
  const [isSorted, setIsSorted] = useState(false);
  const listed = useMemo(() => (isSorted ? sortByAmount(rows) : rows), [isSorted, rows]);
  const shown = listed.slice(from, from + pageSize);
  const columns = rowColumns(isOfSeveral).filter(({ id }) => isUsed[id]?.(rows) ?? true);
  const onSort = (wanted: boolean) => {
    setIsSorted(wanted);
    setFrom(0);
  };
  return (
    <section aria-labelledby="entries-heading" className="mt-8">
      <h3 id="entries-heading" className="mb-2 font-semibold text-lg">
        {formatCount(rows.length, "entry", "entries")}
      </h3>
      {isUsed["amount"]?.(rows) ? (
        <AmountOrder usual="By number" isSorted={isSorted} onSort={onSort} />
      ) : null}
      {/* Up to ten columns: on a wide screen wider than the page's text. */}
      <div className="overflow-x-auto lg:mx-[calc((100%-min(100vw-4rem,76rem))/2)]">
        <DataTable
          caption="Entries of the pack"
          columns={columns}
          rows={shown}
          rowKey={({ file }) => file}
          empty={<p>No entries in this period.</p>}
        />
      </div>
      {listed.length <= pageSize ? null : (
        <div className="no-print mt-3 flex flex-wrap items-center gap-3">
          <Button
            variant="secondary"
            size="small"
            disabled={from === 0}
            onClick={() => setFrom(from - pageSize)}
          >
            Previous
          </Button>
          <Button
            variant="secondary"
            size="small"
            disabled={from + pageSize >= listed.length}
            onClick={() => setFrom(from + pageSize)}
          >
            Next
          </Button>
          <p className="text-muted text-sm" role="status">
            {from + 1} to {from + shown.length} of {listed.length}
          </p>
        </div>
      )}
    </section>
  );
}

function Checks({ checks, isOpen }: { readonly checks: readonly PackCheck[]; readonly isOpen: boolean }) {
  return (
    <details className="mt-8" open={isOpen}>
      <summary className="min-h-11 cursor-pointer font-semibold text-lg">
        {formatCount(checks.length, "check")}
      </summary>
      <ul className="mt-2 rounded-lg border border-line bg-surface px-4 sm:px-5">
        {checks.map(({ name, status, detail }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two checks may have one name, and the list never changes
          <li key={i} className="border-line border-b py-3 last:border-0">
            <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
              <h4 className="font-medium">{name}</h4>
              <StatusPill tone={answers[status].tone}>{answers[status].text}</StatusPill>
            </div>
            <p className="mt-1 text-[15px] text-muted [overflow-wrap:anywhere]">
              <bdi>{toVisibleText(detail)}</bdi>
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}

const writeTitle = ([first, ...others]: readonly PackFacts[]) =>
  first === undefined ? "" : others.length === 0 ? first.agent.slug : `${others.length + 1} agents`;

const pdfColumns: readonly { id: string; column: PdfColumn; cell: (row: PackRow) => PdfCell }[] = [
  {
    id: "amount",
    column: { header: "Amount", share: 2, isNumeric: true },
    cell: ({ amount }) => amount ?? "",
  },
  { id: "payee", column: { header: "Payee", share: 2 }, cell: ({ payee }) => payee ?? "" },
  { id: "rule", column: { header: "Rule", share: 2 }, cell: ({ rule }) => rule },
  { id: "use", column: { header: "Standing approval", share: 2 }, cell: ({ use }) => use },
  {
    id: "warnings",
    column: { header: "Warnings", share: 2 },
    cell: ({ warnings }) => warnings.join(", "),
  },
];

/** The report for people who want it on paper. */
function toPdf({ agents, sums, rows, sentence, notProven }: CheckedPack, source: string): PdfDocument {
  const isOfSeveral = agents.length > 1;
  const [first] = agents;
  const optional = pdfColumns.filter(({ id }) => isUsed[id]?.(rows));
  return {
    title: `Evidence pack: ${writeTitle(agents)}`,
    isLandscape: true,
    blocks: [
      { kind: "text", text: `${sentence} Checked in a browser, from the file ${source}.` },
      ...(isOfSeveral && first !== undefined
        ? [{ kind: "facts" as const, rows: [["Period", describePeriod(first)]] as [string, string][] }]
        : []),
      ...agents.flatMap((facts): PdfDocument["blocks"] => [
        ...(isOfSeveral ? [{ kind: "heading" as const, text: facts.agent.slug }] : []),
        {
          kind: "facts",
          rows: agentItems(facts)
            .filter(({ id }) => !isOfSeveral || id !== "period")
            .map(({ name, value }): [string, string] => [name, value]),
        },
      ]),
      { kind: "heading", text: "Sums by currency" },
      {
        kind: "table",
        columns: [
          { header: "Kind", share: 3 },
          { header: "Agent", share: 3 },
          { header: "Count", share: 1, isNumeric: true },
          { header: "Sum", share: 2, isNumeric: true },
        ],
        rows: sums.map(({ kind, agent, count, sum }) => [kind, agent ?? "all", String(count), sum]),
      },
      { kind: "heading", text: "What it does not prove" },
      { kind: "list", items: notProven },
      { kind: "heading", text: "Entries" },
      {
        kind: "table",
        columns: [
          { header: "Number", share: 1, isNumeric: true },
          { header: "Time", share: 2 },
          ...(isOfSeveral ? [{ header: "Agent", share: 2 }] : []),
          ...optional.map(({ column }) => column),
          { header: "Action", share: 4 },
          { header: "Decided by", share: 3 },
        ],
        rows: rows.map((row) => [
          String(row.number),
          row.time === null ? "" : readableTime(row.time),
          ...(isOfSeveral ? [row.agent] : []),
          ...optional.map(({ cell }) => cell(row)),
          describeAction(row) ?? (row.missing || row.kind),
          `${describeDecision(row)}${row.isTest ? " TEST" : ""}`,
        ]),
      },
    ],
  };
}

interface PackViewProps {
  readonly checked: CheckedPack;
  /** Name of the file. */
  readonly source: string;
}

export function PackView({ checked, source }: PackViewProps) {
  const { verdict, sentence, checks, warnings, agents, rows, sums, notProven, csv, html } = checked;
  const isOfSeveral = agents.length > 1;
  const failed = checks.filter(({ status }) => status === "fail" || status === "not_run");
  const open = checks.filter(({ status }) => status === "not_applicable");
  const name = source.replace(/\.zip$/i, "");
  return (
    <div data-pack={verdict}>
      <Callout tone={tones[verdict]} title={titles[verdict]} alert={verdict === "invalid"}>
        <p>{sentence}</p>
        {[...failed, ...open].length === 0 ? null : (
          <ul className="mt-2 list-disc pl-5 [overflow-wrap:anywhere]">
            {[...failed, ...open].map(({ name, detail }) => (
              <li key={`${name} ${detail}`}>
                <bdi>{toVisibleText(detail)}</bdi>
              </li>
            ))}
          </ul>
        )}
        {warnings.map((warning) => (
          <p key={warning} className="mt-2 font-medium [overflow-wrap:anywhere]">
            <AgentText value={warning} />
          </p>
        ))}
      </Callout>
      {agents.length === 0 ? null : (
        <>
          <div className="no-print mt-5 flex flex-wrap gap-3">
            <PdfButton fileName={`${name}.pdf`} describe={() => toPdf(checked, source)}>
              Download report as PDF
            </PdfButton>
            {csv === null ? null : (
              <Button
                variant="secondary"
                onClick={() => saveFile("report.csv", "text/csv;charset=utf-8", csv)}
              >
                report.csv
              </Button>
            )}
            {html === null ? null : (
              <Button variant="secondary" onClick={() => saveFile("report.html", "text/html", html)}>
                report.html
              </Button>
            )}
          </div>
          {agents.map((facts) => (
            <section key={facts.agent.agent_id} className="mt-6">
              <h3 className="mb-1 font-semibold text-lg [overflow-wrap:anywhere]">
                <AgentText value={facts.agent.slug} isName />
              </h3>
              <DefinitionList items={agentItems(facts)} />
            </section>
          ))}
          <section className="mt-8">
            <h3 className="mb-2 font-semibold text-lg">Sums by currency</h3>
            <DataTable
              caption="Sums by currency"
              columns={sumColumns(isOfSeveral)}
              rows={sums}
              rowKey={({ kind, agent, sum }) => `${kind} ${agent} ${sum.currency}`}
              empty={<p>No entry has an amount.</p>}
            />
          </section>
          <Entries rows={rows} isOfSeveral={isOfSeveral} />
          <section className="mt-8">
            <h3 className="mb-2 font-semibold text-lg">What it doesn't prove</h3>
            <ul className="list-disc pl-5 text-[15px]">
              {notProven.map((text) => (
                <li key={text}>{toVisibleText(text)}</li>
              ))}
            </ul>
          </section>
        </>
      )}
      <Checks checks={checks} isOpen={verdict === "invalid"} />
    </div>
  );
}
