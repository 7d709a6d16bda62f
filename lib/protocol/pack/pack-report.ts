/**
 * The report of an evidence pack for people: one HTML page that loads nothing and runs nothing. It follows from the facts
 * and the entries alone, so that its numbers cannot be others than theirs.
 */

import { type Amount, formatAmount } from "#lib/protocol/approval/amount";
import { approvalWords, isUnasked } from "#lib/protocol/approval/approval-words";
import { isBacked } from "#lib/protocol/statement/human-approval";
import { escapeHtml, formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { addCounts, countPack, type PackCounts, type PackEntry } from "./pack-entries";
import { isEndShown, PACK_VERSION, type PackedFile, type PackFacts, type PackVersion } from "./pack-manifest";
import {
  describeAction,
  describeDecision,
  describeDecisionCounts,
  joinSums,
  type PackRow,
  packCsvHead,
  sumPack,
  sumPackRows,
  toPackRow,
  writePackCsvLine,
} from "./pack-rows";
import { listRequirementCells, requirementColumns, requirementSources, requirements } from "./requirements";

/* Explains for the report and its reader what an evidence pack shows and what it cannot. */

export interface PackPart {
  part: string;
  question: string;
  /** Files of the pack. */
  files: string;
  check: string;
  /** Criteria of SOC 2's Trust Services Criteria (2017), and articles of Regulation (EU) 2024/1689. */
  criteria: string;
  articles: string;
}

const packParts: readonly PackPart[] = [
  {
    part: "Actions",
    question: "What did the agent report, when, and under which registered key, code and tools?",
    files: "attestations/",
    check: "attestations",
    criteria: "CC6.1",
    articles: "12, 19, 26(6)",
  },
  {
    part: "Approvals and denials",
    question:
      "Which actions did a person approve or refuse, and how is the person proven? Which ones did rules decide?",
    files: "attestations/, decisions/",
    check: "decisions",
    criteria: "CC6.1, CC8.1",
    articles: "14, 26(2)",
  },
  {
    part: "Warnings",
    question: "Where do the records show a wrong signature, unknown code, an unregistered tool or a gap?",
    files: "attestations/",
    check: "attestations",
    criteria: "CC7.2",
    articles: "12, 26(5)",
  },
  {
    part: "Completeness",
    question:
      "Is every number of the agent's record in the period here, and is every entry of the log counted?",
    files: "record/, statements/, agent-heads.bin",
    check: "period, record",
    criteria: "CC7.2",
    articles: "12, 19, 26(6)",
  },
  {
    part: "Unchanged since",
    question: "Is every entry in one public log, which only grew?",
    files: "log.json, keys.json",
    check: "log",
    criteria: "CC7.2",
    articles: "12, 19",
  },
];

/** Subjects of the cited criteria and articles, in our words. */
const packSources: readonly (readonly [name: string, about: string])[] = [
  ["CC6.1", "logical access: who and what may act, and how that is controlled"],
  ["CC7.2", "monitoring of systems for anomalies, and their analysis"],
  ["CC8.1", "changes are authorized and approved before they are made"],
  ["Article 12", "high-risk AI systems can record events automatically, over their lifetime"],
  ["Article 14", "people can oversee high-risk AI systems, disregard their output, or stop them"],
  ["Article 19", "providers keep these logs, as far as they control them, for at least six months"],
  [
    "Article 26",
    "deployers assign human oversight (2), monitor operation (5), and keep the logs they control for at least six months (6)",
  ],
];

/** Empty for one agent; of several, a sentence names the one that it is about. */
const nameAgent = ({ agent }: PackFacts, agents: readonly PackFacts[]) =>
  agents.length === 1 ? "" : ` of ${agent.slug}`;

function describeRange(facts: PackFacts, agents: readonly PackFacts[]): string[] {
  if (!isEndShown(facts)) return [];
  const { first, last } = facts.record;
  const record = agents.length === 1 ? "the agent's record" : `the record of ${facts.agent.slug}`;
  return [
    last < first
      ? `That ${record} has no entry of this period.`
      : `That these are all entries of the period${nameAgent(facts, agents)}: numbers ${first} to ${last} of ${record}.`,
  ];
}

/** Sentences, true if every check of the pack passes. `agents`: one or several. */
export function listProven(agents: readonly PackFacts[]): string[] {
  return [
    "That the service signed each of these entries and took it into its public log, and that none was changed since.",
    ...agents.flatMap((facts) => describeRange(facts, agents)),
    "Which actions people approved, by World ID and at which level or as enrolled approvers by passkey, which ones a standing approval or a rule decided without asking, and that each decision covers exactly that action.",
    "That every number on this page follows from the entries.",
  ];
}

const always = [
  "That an action happened as it was reported. A record proves what the agent reported, not what it did.",
  "That the agent reported everything. What never reached the service is in no record.",
  "On which side of the period's first or last moment an entry belongs that the service was just recording then. Packs of periods that follow each other must have numbers that follow each other.",
  "Who the approving person is. A proof of personhood shows that a human with that credential approved exactly this; a passkey, that a device which the organization enrolled for its approver did, unlocked by its user.",
  "That the keys in keys.json are the service's own. Compare them with a copy that you got another way.",
  "That everyone is shown this log. Only witnesses who cosign it rule out a second one.",
];

const sumCounts = (agents: readonly PackFacts[], count: (counts: PackFacts["counts"]) => number) =>
  agents.reduce((sum, { counts }) => sum + count(counts), 0);

const countTests = ({ approvals }: PackFacts["counts"]) =>
  approvals.backed.reduce(
    (sum, { method, environment, count }) =>
      sum + (environment === "production" || isUnasked(method) ? 0 : count),
    0,
  );

/** The words of version 1 stay: its reports are made again and compared. */
function listUnshown(agents: readonly PackFacts[], isFirst: boolean): string[] {
  const missing = sumCounts(agents, ({ attestations: { erased, withheld } }) => erased + withheld);
  const tests = sumCounts(agents, countTests);
  const asserted = sumCounts(agents, ({ approvals }) => approvals.asserted);
  const count = (number: number) => formatCount(number, "attestation");
  return [
    ...(missing > 0
      ? [
          isFirst
            ? `What ${missing} attestations say: their content is not in this pack.`
            : `What ${count(missing)} ${missing === 1 ? "says" : "say"}: the content is not in this pack.`,
        ]
      : []),
    ...(tests > 0
      ? [
          isFirst
            ? `That a real person gave ${tests} of the approvals: they are tests.`
            : `That a real person approved the actions of ${count(tests)}: those approvals are tests.`,
        ]
      : []),
    ...(asserted > 0
      ? [
          isFirst
            ? `That a person gave ${asserted} of the approvals: the agent only asserted them.`
            : `That a person approved the actions of ${count(asserted)}: the agent only asserted it.`,
        ]
      : []),
  ];
}

/** Sentences. `agents`: one or several. */
export function listNotProven(agents: readonly PackFacts[], version: PackVersion = PACK_VERSION): string[] {
  return [
    ...always,
    ...(agents.length > 1 ? ["That the organization has no other agents than these."] : []),
    ...agents
      .filter((facts) => !isEndShown(facts))
      .map((facts) => {
        const { last, counted } = facts.record;
        return `That number ${last}${nameAgent(facts, agents)} is the last entry of the period: what came after ${counted === null ? "it" : readableTime(counted.at)} is not counted.`;
      }),
    ...listUnshown(agents, version === 1),
  ];
}

/** An agent's text: every character that would not be seen is made visible, and its direction is its own. */
const foreign = (text: string) => `<bdi dir="ltr" class="foreign">${escapeHtml(toVisibleText(text))}</bdi>`;

const maxShown = 300;
/** The file has all of it. */
function shorten(text: string): string {
  if (text.length <= maxShown) return text;
  const characters = [...text];
  return characters.length <= maxShown ? text : `${characters.slice(0, maxShown).join("")}…`;
}

const beginTable = (headers: readonly string[]) =>
  `<table><thead><tr>${headers.map((header) => `<th scope="col">${escapeHtml(header)}</th>`).join("")}</tr></thead><tbody>\n`;
const writeRow = (cells: readonly string[]) =>
  `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>\n`;
const tableEnd = "</tbody></table>";

const table = (headers: readonly string[], rows: readonly (readonly string[])[]) =>
  `${beginTable(headers)}${rows.map(writeRow).join("")}${tableEnd}`;

const facts = (rows: readonly (readonly [name: string, html: string])[]) =>
  `<dl>${rows.map(([name, html]) => `<div><dt>${escapeHtml(name)}</dt><dd>${html}</dd></div>`).join("")}</dl>`;

const style = `:root{color-scheme:light}body{font:15px/1.5 system-ui,sans-serif;color:#16181d;background:#fff;max-width:60rem;
margin:2rem auto;padding:0 1rem}h1{font-size:1.7rem;line-height:1.2}h2{font-size:1.2rem;margin-top:2.2rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px}th,td{border-bottom:1px solid #d6d9e0;
padding:.4rem .8rem .4rem 0;text-align:left;vertical-align:top}dl{margin:0}dl div{display:grid;gap:.2rem 1rem;
grid-template-columns:minmax(7rem,15rem) 1fr;border-bottom:1px solid #eceef2;padding:.3rem 0}dt{color:#545a67}dd{margin:0}
.foreign,code{overflow-wrap:anywhere}.foreign{white-space:pre-wrap}td code{overflow-wrap:normal}
.note{border-left:4px solid #545a67;padding:.2rem 0 .2rem 1rem}@page{margin:15mm}
@media print{body{max-width:none;margin:0}tr,dl div{break-inside:avoid}thead{display:table-header-group}}`;

/** Styles from version 2 on: the brand's head, amounts, and paper on its side. */
const brandStyle = `
.brand{display:flex;align-items:center;gap:.6rem;color:#1f4690;font-weight:600;border-bottom:2px solid #1f4690;
padding-bottom:.6rem}.brand svg{width:2rem;height:2rem}body{max-width:76rem}th{color:#1f4690}
.amount{white-space:nowrap;display:block;text-align:right;font-variant-numeric:tabular-nums}
.test{color:#8a5300;font-weight:700}td:has(.foreign:not(:empty)){min-width:7em}@page{size:A4 landscape;margin:12mm}
@media print{body{font-size:12px;max-width:none}table{font-size:10.5px}h2{break-after:avoid}.scroll{overflow:visible}
td:has(.foreign:not(:empty)){min-width:5em}}`;

const brand = `<header class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1f4690"/><path d="M7 17.5l4.5 4.5L20 11" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/><path d="M15.5 20.2l1.8 1.8L26 11" fill="none" stroke="#9dbcff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>Countersign</header>
`;

function describeCounts({ counts, record, period }: PackFacts): string {
  const { attestations: made, decisions, entries } = counts;
  const { first, last, head, counted } = record;
  const numbers = last < first ? "none" : `${first} to ${last} of ${head}`;
  const covered =
    counted === null
      ? "not made yet"
      : `${counted.entries} entries, ${escapeHtml(readableTime(counted.at))}, at ${counted.covers_size} leaves of ${escapeHtml(counted.log_origin)}`;
  return facts([
    ["Period", `${escapeHtml(readableTime(period.from))} to ${escapeHtml(readableTime(period.to))}`],
    ["Numbers in the agent's record", numbers],
    ["Numbers missing between these", String(Math.max(0, last - first + 1) - entries)],
    ["Last signed count of all records", covered],
    ["Entries", String(entries)],
    [
      "Attestations",
      `${made.total}: ${made.public} public, ${made.private} private, ${made.withheld} kept out, ${made.erased} erased`,
    ],
    ["Decisions", `${decisions.total}: ${describeDecisionCounts(decisions)}`],
    ["Times that the agent was frozen and unfrozen", `${decisions.frozen}, ${decisions.unfrozen}`],
  ]);
}

function describeApprovals({ approvals }: PackFacts["counts"]): string {
  const backed = approvals.backed.map(({ method, level, environment, count }) => [
    `${approvalWords[method].replace(/^./, (letter) => letter.toUpperCase())}${level === "none" ? "" : `, level ${foreign(level)}`}${environment === "production" ? "" : ` <strong>TEST (${foreign(environment)})</strong>`}`,
    String(count),
  ]);
  const rest = [
    ["Asserted by the agent, not proven", String(approvals.asserted)],
    ["None", String(approvals.none)],
  ];
  return table(["Human approval of attestations", "Count"], [...backed, ...rest]);
}

function describeApproval({ approval, decision, isTest }: PackEntry): string {
  const test = isTest ? " <strong>TEST</strong>" : "";
  if (decision === "authorization_revoked") return "taken back";
  if (decision !== null) return `${decision}${test}`;
  if (approval === null) return "";
  const level = isBacked(approval) && approval.level !== "none" ? `, ${foreign(approval.level)}` : "";
  return `${approvalWords[approval.method]}${level}${test}`;
}

function describeEntry(entry: PackEntry): string[] {
  const { sequence, time, action, state, isDecision, warnings, file } = entry;
  const gone = state === "erased" ? "erased" : state === "withheld" ? "content kept out" : "";
  return [
    String(sequence),
    time === null ? "" : escapeHtml(readableTime(time)),
    isDecision ? "decision" : "attestation",
    action === null ? gone : foreign(shorten(action)),
    describeApproval(entry),
    warnings.join(", "),
    `<code>${escapeHtml(file)}</code>`,
  ];
}

const testMark = ' <strong class="test">TEST</strong>';
const money = (amount: Amount | null) =>
  amount === null ? "" : `<b class="amount">${escapeHtml(formatAmount(amount))}</b>`;
const shortened = (text: string | null) => (text === null ? "" : foreign(shorten(text)));

const describeRow = (row: PackRow, isOfSeveral: boolean): string[] => [
  ...(isOfSeveral ? [foreign(row.agent)] : []),
  String(row.number),
  row.time === null ? "" : escapeHtml(readableTime(row.time)),
  row.kind,
  money(row.amount),
  shortened(row.payee),
  row.action === null ? row.missing : shortened(describeAction(row)),
  shortened(row.tool),
  `${shortened(describeDecision(row))}${row.isTest ? testMark : ""}`,
  shortened(row.rule),
  shortened(row.use),
  row.warnings.join(", "),
  `<code>${escapeHtml(row.file)}</code>`,
];

const headers1 = ["Number", "Time", "Kind", "Action", "Approval", "Warnings", "File"];
const headers2 = [
  "Number",
  "Time",
  "Kind",
  "Amount",
  "To",
  "Action",
  "Tool",
  "Decided by",
  "Rule",
  "Standing approval",
  "Warnings",
  "File",
];

const scrolling = (headers: readonly string[], rows: readonly (readonly string[])[]) =>
  rows.length === 0 ? "<p>None.</p>" : `<div class="scroll">${table(headers, rows)}</div>`;

/** A part of a text: itself, or what the verifier keeps of it to compare. */
export type Piece = string | { sha256: string; bytes: number };

/** Rows that entries have in the report and in its CSV. */
type TextName = "all" | "warned" | "denied" | "csv";

/** Counts, sums and texts of entries: of a part of them, or of all that an agent has in the pack. */
export interface PackTally {
  counts: PackCounts;
  sums: ReturnType<typeof sumPackRows>;
  texts: Record<TextName, readonly Piece[]>;
}

/** Facts of an agent, with what else follows from its entries. */
export interface PackAgent {
  facts: PackFacts;
  tally: PackTally;
}

/** Style of rows: whose they are, in a pack of how many. */
export interface RowStyle {
  slug: string;
  isOfSeveral: boolean;
  version: PackVersion;
}

/** `toPiece`: what is kept of a text; by default itself. */
export function tallyEntries(
  entries: readonly PackEntry[],
  { slug, isOfSeveral, version }: RowStyle,
  toPiece: (text: string) => Piece = (text) => text,
): { tally: PackTally; rows: PackRow[] } {
  const rows = entries.map((entry) => toPackRow(entry, slug));
  const written = entries.map((entry, i) => ({
    entry,
    html: writeRow(
      version === 1 ? describeEntry(entry) : describeRow(rows[i] ?? toPackRow(entry, slug), isOfSeveral),
    ),
  }));
  const join = (lines: readonly string[]) => (lines.length === 0 ? [] : [toPiece(lines.join(""))]);
  const joinRows = (is: (entry: PackEntry) => boolean) =>
    join(written.flatMap(({ entry, html }) => (is(entry) ? html : [])));
  const texts = {
    all: joinRows(() => true),
    warned: joinRows(({ warnings }) => warnings.length > 0),
    denied: joinRows(({ decision }) => decision === "denied"),
    csv: version === 1 ? [] : join(rows.map(writePackCsvLine)),
  };
  return { tally: { counts: countPack(entries), sums: sumPackRows(rows), texts }, rows };
}

export function createTally() {
  const texts: Record<TextName, Piece[]> = { all: [], warned: [], denied: [], csv: [] };
  const tally: PackTally = { counts: countPack([]), sums: [], texts };
  return {
    tally,
    /** Adds entries after those before. */
    add: (part: PackTally): void => {
      tally.counts = addCounts(tally.counts, part.counts);
      tally.sums = joinSums([...tally.sums, ...part.sums]);
      for (const name of Object.keys(texts) as TextName[]) texts[name].push(...part.texts[name]);
    },
  };
}

/** `report.csv` */
export const writePackCsv = (agents: readonly PackAgent[]): Piece[] => [
  packCsvHead,
  ...agents.flatMap(({ tally }) => tally.texts.csv),
];

function writeEntries(
  agents: readonly PackAgent[],
  name: "all" | "warned" | "denied",
  isFirst: boolean,
): Piece[] {
  const rows = agents.flatMap(({ tally }) => tally.texts[name]);
  if (rows.length === 0) return ["<p>None.</p>"];
  const headers = isFirst ? headers1 : [...(agents.length > 1 ? ["Agent"] : []), ...headers2];
  return [`<div class="scroll">${beginTable(headers)}`, ...rows, `${tableEnd}</div>`];
}

export const sumAgents = (agents: readonly PackAgent[]) =>
  sumPack(
    agents.map(({ facts, tally }) => ({
      slug: facts.agent.slug,
      entries: tally.counts.entries,
      sums: tally.sums,
    })),
  );

function describeSums(agents: readonly PackAgent[]): string {
  const isOfSeveral = agents.length > 1;
  const rows = sumAgents(agents).map(({ kind, agent, sum, count }) => [
    kind,
    ...(isOfSeveral ? [agent === null ? "all" : foreign(agent)] : []),
    escapeHtml(sum.currency),
    String(count),
    money(sum),
  ]);
  return scrolling(["Kind", ...(isOfSeveral ? ["Agent"] : []), "Currency", "Count", "Sum"], rows);
}

/** Counts of one agent, or a row for each of several. */
function describeAll(agents: readonly PackAgent[]): string {
  const [first, ...others] = agents;
  if (first === undefined || others.length === 0)
    return first === undefined ? "" : describeCounts(first.facts);
  const { from, to } = first.facts.period;
  const rows = agents.map(({ facts: { agent, record, counts } }) => {
    const { first: from, last, head, counted } = record;
    const { attestations: made, decisions } = counts;
    return [
      foreign(agent.slug),
      last < from ? "none" : `${from} to ${last} of ${head}`,
      String(Math.max(0, last - from + 1) - counts.entries),
      `${made.total}: ${made.public} public, ${made.private} private, ${made.withheld} kept out, ${made.erased} erased`,
      describeDecisionCounts(decisions),
      `${decisions.frozen}, ${decisions.unfrozen}`,
      counted === null ? "not made yet" : `${counted.entries}, ${escapeHtml(readableTime(counted.at))}`,
    ];
  });
  const headers = [
    "Agent",
    "Numbers in its record",
    "Missing",
    "Attestations",
    "Decisions",
    "Frozen, unfrozen",
    "Last signed count",
  ];
  return `<p>Period: ${escapeHtml(readableTime(from))} to ${escapeHtml(readableTime(to))}</p>${scrolling(headers, rows)}`;
}

function describeSources(): string {
  const rows = packParts.map(({ part, question, files, check, criteria, articles }) =>
    [part, question, files, check, criteria, articles].map(escapeHtml),
  );
  const headers = [
    "Part",
    "Question that it helps to answer",
    "Files",
    "Check",
    "SOC 2 criteria",
    "EU AI Act, article",
  ];
  const about = facts(packSources.map(([name, text]) => [name, escapeHtml(text)]));
  return `<div class="scroll">${table(headers, rows)}</div>
<p class="note">The criteria and articles are named so that a part can be found where an assessment asks for it. This is no
claim of compliance. The articles apply to high-risk AI systems; whether a system is one is not decided here.</p>${about}`;
}

/** Rows by requirement, with what isn't covered; since version 2. */
function describeRequirements(): string {
  const about = facts(
    Object.values(requirementSources).map(({ name, applies, url }) => [
      name,
      `${escapeHtml(applies)}<br><code>${escapeHtml(url)}</code>`,
    ]),
  );
  const rows = requirements.map((row) => listRequirementCells(row).map(escapeHtml));
  return `<p class="note">Named so that a part can be found where an assessment asks for it. This is no claim of compliance: it says
beside each requirement what is not covered. Which of them apply to you is not decided here. The same is in
<code>requirements.csv</code>.</p>${scrolling(requirementColumns, rows)}${about}`;
}

const howToCheck = `<ol>
<li>Get <code>verify.mjs</code> from the service's own address, or compare the SHA-256 of the copy in this pack with the one
that the service publishes at <code>/verify.mjs.sha256</code>. It is one readable file for Node 20 or newer.</li>
<li>Get the service's keys another way than with this pack, if you can: <code>/v1/pubkey</code>, saved earlier.</li>
<li><code>node verify.mjs pack FILE.zip --keys keys.json</code> checks everything here without a network: every file against
the manifest, every receipt and decision, the record, the log, and that these counts follow from them. It makes this page
again and compares the bytes.</li>
<li>A single receipt: <code>node verify.mjs attestations/NUMBER.json --keys keys.json</code>.</li>
</ol>`;

const list = (lines: readonly string[]) =>
  `<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join("\n")}</ul>`;

const inBrowser = `<p>Without installing anything: drop this ZIP file on the service's page <code>/verify</code>. Your browser
checks it there with the same code, and the file stays on your machine. With Node:</p>`;

/** "Evidence pack: treasury-bot"; of several agents how many. `show` writes other people's text. */
const writeTitle = (agents: readonly PackAgent[], show: (text: string) => string) =>
  `Evidence pack: ${agents.length === 1 ? show(agents[0]?.facts.agent.slug ?? "") : `${agents.length} agents`}`;

/** `files`: all but the report, its CSV and the manifest. */
export function writePackReport(
  agents: readonly PackAgent[],
  files: readonly PackedFile[],
  version: PackVersion = PACK_VERSION,
): Piece[] {
  const all = agents.map(({ facts }) => facts);
  const counts = agents.reduce((sum, { tally }) => addCounts(sum, tally.counts), countPack([]));
  const isFirst = version === 1;
  const digest = (name: string) => files.find((file) => file.name === name)?.sha256 ?? "";
  const section = (title: string, ...html: readonly Piece[]): Piece[] => [
    `\n<h2>${escapeHtml(title)}</h2>\n`,
    ...html,
  ];
  const { left_out = [] } = all[0] ?? {};
  const left =
    all.length === 1
      ? left_out.map(({ what, why, count }) => [escapeHtml(what), escapeHtml(why), String(count ?? "")])
      : all.flatMap(({ agent, left_out }) =>
          left_out.map(({ what, why, count }) => [
            foreign(agent.slug),
            escapeHtml(what),
            escapeHtml(why),
            String(count ?? ""),
          ]),
        );
  const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${writeTitle(agents, (text) => escapeHtml(toVisibleText(text)))}</title><style>${style}${isFirst ? "" : brandStyle}</style></head><body>
${isFirst ? "" : brand}<h1>${writeTitle(agents, foreign)}</h1>
<p class="note">This page states what is in the pack. It proves nothing by itself: run the check below.</p>`;
  return [
    head,
    ...section("What is in it", describeAll(agents)),
    ...(isFirst ? [] : section("Sums by currency", describeSums(agents))),
    ...section("Approvals by level", describeApprovals(counts)),
    ...section(
      "Warnings",
      ...(counts.warnings.length === 0
        ? ["<p>None.</p>"]
        : [
            facts(counts.warnings.map(({ code, count }) => [code, String(count)])),
            ...writeEntries(agents, "warned", isFirst),
          ]),
    ),
    ...section("Denials", ...writeEntries(agents, "denied", isFirst)),
    ...section("How to check it offline", `${isFirst ? "" : inBrowser}${howToCheck}`),
    ...section("What it proves, if every check passes", list(listProven(all))),
    ...section("What it does not prove", list(listNotProven(all, version))),
    ...section(
      "What is left out",
      table(all.length === 1 ? ["What", "Why", "Count"] : ["Agent", "What", "Why", "Count"], left),
    ),
    ...section("Where an assessment may ask for it", isFirst ? describeSources() : describeRequirements()),
    ...section("All entries", ...writeEntries(agents, "all", isFirst)),
    ...section(
      "Files",
      facts([
        ["SHA-256 of verify.mjs", `<code>${digest("verify.mjs")}</code>`],
        ["SHA-256 of keys.json", `<code>${digest("keys.json")}</code>`],
        ...(isFirst
          ? []
          : [
              ["Entries for a spreadsheet", "<code>report.csv</code>"] as const,
              ["Requirements for a spreadsheet", "<code>requirements.csv</code>"] as const,
            ]),
        ["All others", "in <code>manifest.json</code>"],
      ]),
    ),
    "\n</body></html>\n",
  ];
}
