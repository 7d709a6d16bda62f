/** Explains for the report and its reader what an evidence pack shows and what it cannot. */

import { readableTime } from "#lib/protocol/time/time-words";
import { isEndShown, type PackFacts } from "./pack-manifest";

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

export const packParts: readonly PackPart[] = [
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
export const packSources: readonly (readonly [name: string, about: string])[] = [
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

/** Sentences, true if every check of the pack passes. */
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

/** Sentences. */
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
