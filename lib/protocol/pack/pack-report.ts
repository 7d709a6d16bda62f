/**
 * The report of an evidence pack for people: one HTML page that loads nothing and runs nothing. It follows from the facts
 * and the entries alone, so that its numbers cannot be others than theirs.
 */

import { formatAmount, sumByCurrency } from "#lib/protocol/approval/amount";
import { approvalWords } from "#lib/protocol/approval/approval-words";
import { describeDecided } from "#lib/protocol/approval/decided-words";
import { isBacked } from "#lib/protocol/statement/statement";
import { escapeHtml, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import type { PackEntry } from "./pack-entries";
import { isEndShown, PACK_VERSION, type PackedFile, type PackFacts, type PackVersion } from "./pack-manifest";

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

export function listProven(facts: PackFacts): string[] {
  const { first, last } = facts.record;
  const all =
    last < first
      ? "That the agent's record has no entry of this period."
      : `That these are all entries of the period: numbers ${first} to ${last} of the agent's record.`;
  return [
    "That the service signed each of these entries and took it into its public log, and that none was changed since.",
    ...(isEndShown(facts) ? [all] : []),
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

export function listNotProven(facts: PackFacts): string[] {
  const { record, counts } = facts;
  const { last, counted } = record;
  const { erased, withheld } = counts.attestations;
  const tests = counts.approvals.backed.filter(({ environment }) => environment !== "production");
  const testCount = tests.reduce((sum, { count }) => sum + count, 0);
  return [
    ...always,
    ...(isEndShown(facts)
      ? []
      : [
          `That number ${last} is the last entry of the period: what came after ${counted === null ? "it" : readableTime(counted.at)} is not counted.`,
        ]),
    ...(erased + withheld > 0
      ? [`What ${erased + withheld} attestations say: their content is not in this pack.`]
      : []),
    ...(testCount > 0 ? [`That a real person gave ${testCount} of the approvals: they are tests.`] : []),
    ...(counts.approvals.asserted > 0
      ? [`That a person gave ${counts.approvals.asserted} of the approvals: the agent only asserted them.`]
      : []),
  ];
}

/** An agent's text: every character that would not be seen is made visible, and its direction is its own. */
const foreign = (text: string) => `<bdi dir="ltr" class="foreign">${escapeHtml(toVisibleText(text))}</bdi>`;

const maxShown = 300;
/** The file has all of it. */
function shorten(text: string): string {
  const characters = [...text];
  return characters.length <= maxShown ? text : `${characters.slice(0, maxShown).join("")}…`;
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = headers.map((header) => `<th scope="col">${escapeHtml(header)}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`);
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body.join("\n")}\n</tbody></table>`;
}

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

const amountStyle = `
.amount{white-space:nowrap;display:block;text-align:right;font-variant-numeric:tabular-nums}`;

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
    [
      "Decisions",
      `${decisions.total}: ${decisions.approved} approved, ${decisions.denied} denied, ${decisions.cancelled} cancelled, ${decisions.revoked} taken back, ${decisions.erased} erased`,
    ],
    ["Times that the agent was frozen and unfrozen", `${decisions.frozen}, ${decisions.unfrozen}`],
  ]);
}

function describeApprovals({ counts: { approvals } }: PackFacts): string {
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

function describeDecision({ approval, decision, isTest, facts }: PackEntry): string {
  if (decision === "authorization_revoked") return "taken back";
  const test = isTest ? " <strong>TEST</strong>" : "";
  if (decision !== null && decision !== "approved") return `${decision}${test}`;
  if (approval === null && decision === null) return "";
  const lead = decision === null ? "" : "approved: ";
  return `${lead}${foreign(describeDecided(facts.decided))}${test}`;
}

function describeFacts(entry: PackEntry): string[] {
  const [number = "", time = "", kind = "", action = "", _approval, warnings = "", file = ""] =
    describeEntry(entry);
  const { amount, tool } = entry.facts;
  return [
    number,
    time,
    kind,
    amount === null ? "" : `<b class="amount">${escapeHtml(formatAmount(amount))}</b>`,
    action,
    tool === null ? "" : foreign(shorten(tool)),
    describeDecision(entry),
    warnings,
    file,
  ];
}

const headers1 = ["Number", "Time", "Kind", "Action", "Approval", "Warnings", "File"];
const headers2 = ["Number", "Time", "Kind", "Amount", "Action", "Tool", "Decided by", "Warnings", "File"];

function entryTable(entries: readonly PackEntry[], version: PackVersion): string {
  if (entries.length === 0) return "<p>None.</p>";
  const [headers, describe] = version === 1 ? [headers1, describeEntry] : [headers2, describeFacts];
  return `<div class="scroll">${table(headers, entries.map(describe))}</div>`;
}

const listAmounts = (entries: readonly PackEntry[]) =>
  entries.flatMap(({ facts: { amount } }) => (amount === null ? [] : [amount]));

/** An approval and the action that it backs have the same amount, so each kind has sums of its own. */
function describeSums(entries: readonly PackEntry[]): string {
  const kinds = [
    ["Attested actions", entries.filter(({ isDecision }) => !isDecision)],
    ["Approvals", entries.filter(({ decision }) => decision === "approved")],
    ["Denials", entries.filter(({ decision }) => decision === "denied")],
  ] as const;
  const rows = kinds.flatMap(([kind, of]) =>
    sumByCurrency(listAmounts(of)).map(({ count, ...sum }) => [
      kind,
      escapeHtml(sum.currency),
      String(count),
      `<b class="amount">${escapeHtml(formatAmount(sum))}</b>`,
    ]),
  );
  return rows.length === 0
    ? "<p>None.</p>"
    : `<div class="scroll">${table(["Kind", "Currency", "Count", "Sum"], rows)}</div>`;
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

/** `files`: all but the report and the manifest. */
export function renderPackReport(
  pack: PackFacts,
  entries: readonly PackEntry[],
  files: readonly PackedFile[],
  version: PackVersion = PACK_VERSION,
): string {
  const { agent, counts, left_out } = pack;
  const digest = (name: string) => files.find((file) => file.name === name)?.sha256 ?? "";
  const warned = entries.filter(({ warnings }) => warnings.length > 0);
  const denied = entries.filter(({ decision }) => decision === "denied");
  const section = (title: string, html: string) => `<h2>${escapeHtml(title)}</h2>\n${html}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evidence pack: ${escapeHtml(toVisibleText(agent.slug))}</title><style>${style}${version === 1 ? "" : amountStyle}</style></head><body>
<h1>Evidence pack: ${foreign(agent.slug)}</h1>
<p class="note">This page states what is in the pack. It proves nothing by itself: run the check below.</p>
${[
  section("What is in it", describeCounts(pack)),
  ...(version === 1 ? [] : [section("Sums by currency", describeSums(entries))]),
  section("Approvals by level", describeApprovals(pack)),
  section(
    "Warnings",
    counts.warnings.length === 0
      ? "<p>None.</p>"
      : `${facts(counts.warnings.map(({ code, count }) => [code, String(count)]))}${entryTable(warned, version)}`,
  ),
  section("Denials", entryTable(denied, version)),
  section("How to check it offline", howToCheck),
  section("What it proves, if every check passes", list(listProven(pack))),
  section("What it does not prove", list(listNotProven(pack))),
  section(
    "What is left out",
    table(
      ["What", "Why", "Count"],
      left_out.map(({ what, why, count }) => [escapeHtml(what), escapeHtml(why), String(count ?? "")]),
    ),
  ),
  section("Where an assessment may ask for it", describeSources()),
  section("All entries", entryTable(entries, version)),
  section(
    "Files",
    facts([
      ["SHA-256 of verify.mjs", `<code>${digest("verify.mjs")}</code>`],
      ["SHA-256 of keys.json", `<code>${digest("keys.json")}</code>`],
      ["All others", "in <code>manifest.json</code>"],
    ]),
  ),
].join("\n")}
</body></html>
`;
}
