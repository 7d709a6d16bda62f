/**
 * Requirements by which an assessment may ask for a part of the evidence, and what it doesn't find there: for the report of a
 * pack, its CSV and the docs. No claim of compliance. Sources were read on 2026-11-29.
 */
import { byteOrderMark, encodeCsvLine } from "#lib/protocol/encoding/csv";

export interface RequirementSource {
  name: string;
  /** Date from which it applies, or version. */
  applies: string;
  url: string;
}

export const requirementSources = {
  eu: {
    name: "EU AI Act, Regulation (EU) 2024/1689, amended by Regulation (EU) 2026/1744",
    applies: "to high-risk systems of Annex III from 2 December 2027, of Annex I from 2 August 2028",
    url: "https://eur-lex.europa.eu/eli/reg/2026/1744/oj",
  },
  iso: {
    name: "ISO/IEC 42001:2023, Annex A",
    applies: "if chosen in the Statement of Applicability",
    url: "https://www.iso.org/standard/42001",
  },
  aisvs: {
    name: "OWASP AISVS 1.01",
    applies: "by the level that is verified",
    url: "https://github.com/OWASP/AISVS",
  },
  aiuc: { name: "AIUC-1", applies: "with a review every 12 months", url: "https://www.aiuc-1.com" },
  nist: {
    name: "NIST SP 800-53 Rev. 5",
    applies: "by the baseline that is chosen",
    url: "https://csrc.nist.gov/pubs/sp/800/53/r5/upd1/final",
  },
  soc2: {
    name: "SOC 2, Trust Services Criteria (2017, points of focus of 2022)",
    applies: "over the period of the report",
    url: "https://www.aicpa-cima.com/resources/download/2017-trust-services-criteria-with-revised-points-of-focus-2022",
  },
  colorado: {
    name: "Colorado SB 26-189",
    applies: "from 1 January 2027; records are kept for three years",
    url: "https://leg.colorado.gov/bills/sb26-189",
  },
} as const satisfies Record<string, RequirementSource>;

export interface Requirement {
  source: keyof typeof requirementSources;
  id: string;
  asks: string;
  feature: string;
  /** Names in a pack. */
  files: string;
  gap: string;
}

export const requirements: readonly Requirement[] = [
  {
    source: "eu",
    id: "Article 12",
    asks: "The system records events automatically over its lifetime.",
    feature:
      "Each reported action and each decision is a signed entry of the agent's record, in an append-only log.",
    files: "attestations/, decisions/, record/, log.json",
    gap: "Events that nobody reports, such as prompts and outputs; what 12(3) asks of biometric systems.",
  },
  {
    source: "eu",
    id: "Article 14",
    asks: "People can oversee the system, disregard or override it, and stop it.",
    feature: "Approval before an action, rules that demand it, taking back, and freezing an agent.",
    files: "decisions/, rules/",
    gap: "Whether the person understands the system (14(4)(a), (b)); a stop of what doesn't ask.",
  },
  {
    source: "eu",
    id: "Article 19",
    asks: "Providers keep the logs that they control for at least six months.",
    feature:
      "Entries stay; content stays until it is erased by hand or by the organization's retention; legal hold.",
    files: "attestations/, record/, statements/",
    gap: "Logs that the system keeps elsewhere. A retention below six months is not refused.",
  },
  {
    source: "eu",
    id: "Article 26",
    asks: "Deployers assign oversight (2), monitor operation (5), and keep logs for at least six months (6).",
    feature: "Groups of enrolled approvers in a logged roster; warnings in receipts; retention.",
    files: "decisions/, statements/, attestations/",
    gap: "Competence and training of the people (2), reports of incidents (5), informing workers and others (7), (11).",
  },
  {
    source: "iso",
    id: "A.6.2.8",
    asks: "It is decided in which phases event logs are kept, at least in use.",
    feature: "Entries name the registered key, code and tools that acted.",
    files: "attestations/, record/",
    gap: "Phases before use; the decision itself, which is a document of the organization.",
  },
  {
    source: "iso",
    id: "A.9",
    asks: "AI systems are used responsibly, by set processes and as intended.",
    feature: "Rules as versioned, logged text; standing approvals with limits; approvals.",
    files: "rules/, decisions/",
    gap: "Processes and objectives (A.9.2, A.9.3), which are documents of the organization; use beside the gate.",
  },
  {
    source: "aisvs",
    id: "C9.2",
    asks: "High-impact actions need a person's approval: shown whole, bound to its parameters, used once, with an end.",
    feature:
      "Gates and the hook ask; the page names what was not on the screen; the signature covers the request's hash; one run claims it.",
    files: "decisions/, attestations/",
    gap: "That every such action asks (9.2.1); an end unless the request sets one (9.2.5); rollback (9.2.6).",
  },
  {
    source: "aisvs",
    id: "C9.6",
    asks: "Each action is authorized when it is executed, by policy, outside the model.",
    feature: "Cedar rules are asked at the request, the decision, the claim and the use.",
    files: "rules/, decisions/",
    gap: "Credentials and calls further down (9.6.2, 9.6.5); a user's delegated scope (9.6.6).",
  },
  {
    source: "aisvs",
    id: "C12.4",
    asks: "Agent-initiated actions are monitored: approver, time, parameters, outcome, kill switch.",
    feature: "Decisions name them; freezing and unfreezing are entries of the record.",
    files: "decisions/, record/",
    gap: "Analysis of patterns and threats (12.4.1).",
  },
  {
    source: "aiuc",
    id: "D003",
    asks: "Tool calls stay within what is authorized.",
    feature: "Registered tools, rules, limits of standing approvals, approval of what is sensitive.",
    files: "rules/, attestations/, decisions/",
    gap: "Validation inside the tool; the regular review of how tools are used.",
  },
  {
    source: "aiuc",
    id: "B006",
    asks: "Agents don't act beyond their scope and privileges.",
    feature: "Scoped keys, rules, frozen agents, warnings about unknown code and unregistered tools.",
    files: "attestations/, rules/",
    gap: "The agent's access to systems that don't ask; alerts but for webhooks and chat.",
  },
  {
    source: "aiuc",
    id: "E015",
    asks: "Logs of processes, actions and outputs support investigation.",
    feature: "Entries with numbers without a gap, in a log that can be checked by outsiders.",
    files: "attestations/, decisions/, record/, log.json",
    gap: "Prompts, reasoning and outputs: a hash of the inputs, unless the caller adds more.",
  },
  {
    source: "nist",
    id: "AU-2",
    asks: "The events to log are chosen and reviewed.",
    feature: "Actions, decisions, freezes, rosters and rules are logged; administration is in the audit log.",
    files: "attestations/, decisions/, record/, statements/",
    gap: "The choice and its review; the audit log is in no pack.",
  },
  {
    source: "nist",
    id: "AU-3",
    asks: "Records say what happened, when, where, from where, with which outcome, and who.",
    feature: "Signed fields of each entry: action, time, agent, key, approval, outcome as reported.",
    files: "attestations/, decisions/",
    gap: "The source address, which the audit log has; the outcome is the agent's word.",
  },
  {
    source: "nist",
    id: "AU-9",
    asks: "Audit information is protected from change and deletion.",
    feature: "Append-only log, two signatures, fork guard, witnesses; legal hold.",
    files: "log.json, keys.json, record/",
    gap: "A second log for others, unless witnesses cosign; content can be erased, and its hash stays.",
  },
  {
    source: "nist",
    id: "AU-10",
    asks: "Nobody can deny having acted.",
    feature: "The agent's own signature; passkeys and World ID proofs over exactly the request.",
    files: "attestations/, decisions/",
    gap: "Without a registered key the service alone says which agent it was; a passkey is a device, not a legal identity.",
  },
  {
    source: "nist",
    id: "AU-12",
    asks: "The system generates these records.",
    feature: "Gates, the hook and MCP report without the model's doing.",
    files: "attestations/",
    gap: "What goes around them.",
  },
  {
    source: "nist",
    id: "AC-3",
    asks: "Approved authorizations are enforced.",
    feature: "Deciding, claiming and using are one atomic statement each; a gate runs nothing without them.",
    files: "decisions/, attestations/",
    gap: "Enforcement at the resource itself.",
  },
  {
    source: "nist",
    id: "AC-5",
    asks: "Duties are separated.",
    feature: "Who asks doesn't count as an approver; counts of groups; the object says if it was otherwise.",
    files: "decisions/, statements/",
    gap: "It is off for a person alone, and if an owner allows it; duties elsewhere.",
  },
  {
    source: "soc2",
    id: "CC6.1",
    asks: "Logical access is controlled.",
    feature: "Keys with permissions, roles, sign-in with the company's provider, registered agents.",
    files: "attestations/, statements/",
    gap: "Access to the systems in which the agent acts; keys and roles are in no pack.",
  },
  {
    source: "soc2",
    id: "CC7.2",
    asks: "Anomalies are noticed and analysed.",
    feature: "Warnings, gaps in numbers, a monitor that anybody can run.",
    files: "attestations/, record/, agent-heads.bin",
    gap: "Analysis and response; the infrastructure.",
  },
  {
    source: "soc2",
    id: "CC8.1",
    asks: "Changes are authorized before they are made.",
    feature: "Approval bound to the change; rules whose versions are logged.",
    files: "decisions/, rules/",
    gap: "Design, test and documentation of the change.",
  },
  {
    source: "colorado",
    id: "SB 26-189",
    asks: "Developers and deployers of automated decision-making in consequential decisions keep records, tell consumers, and offer review by a person.",
    feature: "A record of what was decided and who approved it; retention and legal hold.",
    files: "attestations/, decisions/",
    gap: "Notices, explanations, correction of data, and review after the decision; which decisions are consequential; three years, unless you keep content so long.",
  },
];

export const requirementColumns = [
  "Source",
  "Requirement",
  "What it asks",
  "Feature",
  "Files in the pack",
  "Not covered",
] as const;

export const listRequirementCells = ({ source, id, asks, feature, files, gap }: Requirement): string[] => [
  requirementSources[source].name,
  id,
  asks,
  feature,
  files,
  gap,
];

/** `requirements.csv`, with the sources behind the rows. */
export function renderRequirementsCsv(): string {
  const rows = requirements.map((row) => {
    const { applies, url } = requirementSources[row.source];
    return encodeCsvLine([...listRequirementCells(row), applies, url]);
  });
  return `${byteOrderMark}${encodeCsvLine([...requirementColumns, "Applies", "Address of the source"])}${rows.join("")}`;
}
