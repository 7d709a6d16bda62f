/** The report of a version of packs never changes: a verifier of tomorrow makes it again, and compares the bytes. */
import path from "node:path";
import { describe, expect, it } from "vitest";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { hiddenFacts } from "#lib/protocol/record/facts";
import { escapeHtml } from "#lib/protocol/text/display-text";
import { countPack, type PackEntry } from "./pack-entries";
import { encodeManifest, isEndShown, PACK_VERSION, type PackFacts, packFiles } from "./pack-manifest";
import { listNotProven, listProven, type RowStyle, tallyEntries, writePackReport } from "./pack-report";
import {
  listRequirementCells,
  renderRequirementsCsv,
  requirementSources,
  requirements,
} from "./requirements";

const base = {
  isTest: false,
  slug: "bot",
  decision: null,
  isDecision: false,
  approval: null,
  changedInto: null,
  action: null,
  time: null,
  warnings: [],
  facts: hiddenFacts,
};
const at = (sequence: number, more: Partial<PackEntry>): PackEntry => ({
  ...base,
  sequence,
  file: `attestations/${sequence}.json`,
  state: "public",
  ...more,
});
const proven = {
  method: "proof_of_personhood",
  level: "orb",
  request_hash: "",
  authorization_hash: "",
} as const;
const more = { nullifier_hashes: [], approver_ids: [], inputs_bound: false };
const entries = [
  at(2, { action: "Paid", time: "2026-11-22T10:00:00.000Z", approval: { method: "none" } }),
  at(3, { approval: { ...proven, ...more, environment: "production" }, warnings: ["client_gap"] }),
  at(4, { approval: { ...proven, ...more, environment: "staging" }, isTest: true, state: "private" }),
  at(5, { approval: { method: "hash", approver_hash: null }, action: "x".repeat(400) }),
  at(6, { state: "erased" }),
  at(7, { state: "withheld" }),
  at(8, { isDecision: true, decision: "denied", action: "<b>\u200b", state: "private" }),
];
const counted = { entries: 5, log_origin: "example.com/log", covers_size: 9, at: "2026-11-22T11:00:00.000Z" };
const facts: PackFacts = {
  agent: { slug: "bot", agent_id: "00000000-0000-4000-8000-000000000041" },
  period: { from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z" },
  record: { first: 2, last: 8, head: 9, counted },
  counts: countPack(entries),
  left_out: [{ what: "content of entries", why: "erased by the owner", count: 1 }],
};
const files = [{ name: "verify.mjs", sha256: "0".repeat(64), length: 1 }];
const render = (all: readonly PackEntry[], version: RowStyle["version"] = PACK_VERSION) => {
  const { tally } = tallyEntries(all, { slug: "bot", isOfSeveral: false, version });
  return writePackReport([{ facts, tally }], files, version).join("");
};
const report = render(entries);

describe("the report of an evidence pack", () => {
  // If one of them changes after a release, PACK_VERSION has to be raised, and the old code kept for old packs.
  it.each([
    [
      1,
      "4ce739cd3b2bac117d625632535c1ae0f2c0cb8b0624a1212398c69a4f4e264f",
      "698893cba8e913f8b5b9cacb92eed206b4ea9d3cb920853a768dc3d5b37b88e8",
    ],
    [
      PACK_VERSION,
      "9df6bc8795e11371586d34cf101b08e9c2761f472980a81279e9c790d94d2382",
      "ecb8611feb7994821b009d8b298b57114fdc5b2bcfc83b15fd3dc32b11f7284e",
    ],
  ] as const)("is that of version %d, to the byte, and so is the manifest", (version, ...digests) => {
    const made = [render(entries, version), encodeManifest([facts], files, version)];
    expect(made.map((one) => hexEncode(sha256(typeof one === "string" ? utf8Encode(one) : one)))).toEqual(
      digests,
    );
  });

  it("names for each requirement where it is from, its files and a gap, in the report and in both spreadsheets", async () => {
    const known: string[] = Object.values(packFiles);
    const folders = ["attestations/", "decisions/", "rules/", "record/", "statements/"];
    for (const row of requirements) {
      expect(
        row.files.split(", ").filter((name) => ![...known, ...folders].includes(name)),
        row.id,
      ).toEqual([]);
      for (const cell of [...listRequirementCells(row).slice(1), requirementSources[row.source].url])
        expect(report, row.id).toContain(escapeHtml(cell));
      expect(row.gap.length, row.id).toBeGreaterThan(20);
    }
    const asked = [
      "Article 12",
      "Article 14",
      "Article 19",
      "Article 26",
      "A.6.2.8",
      "A.9",
      "C9.2",
      "C9.6",
      "C12.4",
    ];
    const more = ["D003", "B006", "E015", "AU-2", "AU-3", "AU-9", "AU-10", "AU-12", "AC-3", "AC-5"];
    expect(requirements.map(({ id }) => id)).toEqual([
      ...asked,
      ...more,
      "CC6.1",
      "CC7.2",
      "CC8.1",
      "SB 26-189",
    ]);
    expect(renderRequirementsCsv().split("\r\n")).toHaveLength(requirements.length + 2);
    await expect(renderRequirementsCsv()).toMatchFileSnapshot(path.resolve("public/requirements.csv"));
  });

  it("shows amounts in a column of their own, who decided, and sums of each kind by currency", () => {
    const paid = (sequence: number, value: string, more: Partial<PackEntry>) =>
      at(sequence, {
        facts: {
          ...hiddenFacts,
          amount: { value, currency: "EUR" },
          tool: "transfer",
          decided: { kind: "rule", decision: "approved", policyIds: ["small"] },
        },
        ...more,
      });
    const rows = [
      paid(2, "12000.5", { approval: { ...proven, ...more, method: "rule", environment: "production" } }),
      paid(3, "12000.5", { isDecision: true, decision: "approved" }),
      paid(4, "1", { isDecision: true, decision: "denied" }),
      paid(5, "0.5", { approval: { ...proven, ...more, method: "rule", environment: "production" } }),
    ];
    const html = render(rows);
    const text = html.replaceAll(/<[^>]+>/g, "|").replaceAll(/\|+/g, "|");
    expect(text).toContain("|Attested actions|EUR|2|12,001.00 EUR|");
    expect(text).toContain("|Approvals|EUR|1|12,000.50 EUR|");
    expect(text).toContain("|Denials|EUR|1|1.00 EUR|");
    expect(text).toContain("|12,000.50 EUR|transfer|Rule small allowed it. Nobody was asked.|");
    expect(render(entries, 1)).not.toContain("amount");
  });

  it("shows tests as tests, missing content as missing, and hostile text as text", () => {
    expect(report).toContain("TEST (");
    expect(report).toContain("<td>8</td><td></td><td>decision</td>");
    expect(report).toContain("&lt;b&gt;⟨U+200B⟩");
    expect(report).toContain(`${"x".repeat(300)}…`);
    expect(report).toContain("<td>content kept out</td>");
    expect(report).toContain("<dt>Numbers missing between these</dt><dd>0</dd>");
  });

  it("does not claim what the entries do not show", () => {
    const sentences = listNotProven([facts]).join("\n");
    expect(sentences).toContain("What 2 attestations say: the content is not in this pack.");
    expect(sentences).toContain(
      "a real person approved the actions of 1 attestation: those approvals are tests",
    );
    expect(render(entries, 1)).toContain("a real person gave 1 of the approvals: they are tests");
    const [backed] = facts.counts.approvals.backed;
    const byRule = { ...facts.counts.approvals, backed: [{ ...backed, method: "rule" }] } as never;
    const unasked = listNotProven([{ ...facts, counts: { ...facts.counts, approvals: byRule } }]);
    expect(unasked.join("\n"), "of nobody").not.toContain("a real person");
    expect(sentences).toContain("a person approved the actions of 1 attestation: the agent only asserted it");
    expect(sentences).not.toContain("not counted");
    expect(listProven([facts]).join("\n")).toContain("all entries of the period: numbers 2 to 8");
  });

  it("claims the end of the period only by an entry after it, or by a count of exactly its head and a later time", () => {
    const ending = (head: number, count: Partial<typeof counted> | null): PackFacts => ({
      ...facts,
      record: { first: 2, last: 8, head, counted: count && { ...counted, ...count } },
    });
    const later = { at: "2026-12-01T00:00:00.000Z" };
    for (const shown of [ending(9, null), ending(8, { ...later, entries: 8 })])
      expect([isEndShown(shown), listProven([shown]).length]).toEqual([true, 4]);
    const open = [ending(8, null), ending(8, { entries: 8 }), ending(8, { ...later, entries: 7 })];
    for (const one of open) {
      expect([isEndShown(one), listProven([one]).length]).toEqual([false, 3]);
      expect(listNotProven([one]).join("\n")).toMatch(/That number 8 is the last entry .* is not counted/);
    }
  });
});
