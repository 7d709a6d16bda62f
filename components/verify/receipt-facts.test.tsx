import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { HumanApproval } from "#lib/protocol/statement/human-approval";
import type { Verification } from "./facts";
import { buildFindings } from "./findings";
import { NotProvenLine, ReceiptFacts } from "./receipt-facts";
import type { Surroundings } from "./surroundings";

const payloadWith = (key: string | null) =>
  JSON.stringify({ predicate: { registered: { agent_public_key: key } } });

const verificationOf = (fields: object, more: Partial<Verification> = {}): Verification => ({
  answer: {
    ...{ valid: true, status: "recorded", is_public: true, agent_slug: "bot", action: "Paid invoice 8" },
    ...{ timestamp: "2026-11-24T12:00:00.000Z", human_approved: false, human_approval: { method: "none" } },
    ...{ agent_authenticated: null, payload: payloadWith(null), warnings: [] },
    time_bounds: { made_after: null, made_before: null, checkpoint: null, anchors: [] },
    ...fields,
  } as unknown as VerifyResponse,
  ...{ keyStatus: "active", isTest: false, approvalMethod: null },
  ...more,
});

const proven = (count: number, level = "orb") => ({
  human_approved: true,
  human_approval: {
    ...{ method: "proof_of_personhood", level, environment: "production" },
    nullifier_hashes: Array.from({ length: count }, (_, i) => `0x${i}`),
  } as HumanApproval,
});

describe("findings beside the authenticity", () => {
  it("are unknown, not good and not bad, where an agent's key or signature is missing", () => {
    const keyless = buildFindings(verificationOf({})).agent;
    expect(keyless).toMatchObject({ tone: "unknown", text: "Agent not proven" });
    expect(keyless.by).toBe("Only the organization's API key backs this");
    const unsigned = buildFindings(verificationOf({ payload: payloadWith("AAAA") })).agent;
    expect(unsigned).toMatchObject({ tone: "unknown" });
    expect(unsigned.text).toBe("This agent has a key but did not sign this report");
    expect(buildFindings(verificationOf({ agent_authenticated: true })).agent.tone).toBe("proven");
    expect(buildFindings(verificationOf({ agent_authenticated: false })).agent.tone).toBe("warn");
  });

  it("say by whom it was approved, and who vouches for that", () => {
    const approval = (fields: object, more: Partial<Verification> = {}) =>
      buildFindings(verificationOf(fields, more)).approval;
    expect(approval(proven(1))).toMatchObject({
      ...{ tone: "proven", by: "Proven by World ID" },
      text: "1 person, by World ID (Orb)",
    });
    expect(approval(proven(2, "device")).text).toBe("2 different people, by World ID (device)");
    expect(approval({})).toMatchObject({ tone: "neutral", text: "No human approval" });
    const asserted = approval({ human_approved: true, human_approval: { method: "hash" } });
    expect(asserted).toMatchObject({ tone: "warn", by: "Said by the agent" });
    expect(approval(proven(1), { isTest: true })).toMatchObject({ tone: "test" });
    const backed = (method: string, level = "orb") => ({
      ...proven(0),
      human_approval: { ...proven(0).human_approval, method, level, approver_ids: ["a", "b"] },
    });
    expect(approval(backed("enrolled_approver", "none"))).toMatchObject({
      ...{ tone: "proven", text: "2 enrolled approvers, by passkey" },
      by: "Proven by passkey; who they are is the organization's word",
    });
    expect(approval(backed("enrolled_proof_of_personhood")).text).toBe(
      "2 enrolled approvers, by World ID and passkey (Orb)",
    );
    for (const method of ["standing_approval", "rule"]) {
      const { tone, text, by } = approval({ ...backed(method), human_approved: false });
      expect([tone, `${text}, ${by}`]).toEqual([
        "neutral",
        expect.not.stringMatching(/World ID|passkey|enrolled/),
      ]);
    }
    const hidden = { human_approval: null, human_approved: true };
    expect(approval(hidden).tone).toBe("private");
    expect(approval(hidden, { approvalMethod: "hash" }).tone).toBe("warn");
    expect(approval({ valid: null, human_approval: null, human_approved: null }).tone).toBe("unknown");
  });

  it("are nothing but claims in a record that failed", () => {
    for (const fields of [{}, proven(1), { agent_authenticated: true }]) {
      const found = buildFindings(verificationOf({ ...fields, valid: false }));
      for (const { tone, by } of Object.values(found)) {
        expect(["warn", "unknown"]).toContain(tone);
        expect(by).toBe("This record failed verification");
      }
    }
  });
});

const surroundings = (fields: Partial<Surroundings> = {}): Surroundings => ({
  organization: {
    name: "Example GmbH",
    domains: [{ domain: "example.com", unicode: "example.com", last_checked: "2026-11-23T08:00:00.000Z" }],
  },
  habits: { approvals: null, signatures: null },
  grant: null,
  ...fields,
});

const render = (verification: Verification, around: Surroundings | null = surroundings()) =>
  renderToStaticMarkup(<ReceiptFacts verification={verification} surroundings={around} />).replaceAll(
    /<[^>]+>/g,
    "",
  );

describe("the first screen of a receipt", () => {
  it("names the organization and its verified domains", () => {
    const shown = render(verificationOf({}));
    expect(shown).toContain("Example GmbH");
    expect(shown).toContain("example.com Checked by Countersign, last on 2026-11-23");
    const unknown = render(verificationOf({}), surroundings({ organization: { name: null, domains: [] } }));
    expect(unknown).toContain("Unnamed organization");
    expect(unknown).toContain("No verified domain");
  });

  it("says what an approver changed before it was approved", () => {
    const request = (value: string) => ({
      ...{ action: "Paid invoice 8", agent_slug: "bot" },
      amount: { value, currency: "EUR" },
    });
    const human_authorization = {
      request: { ...request("80"), amends: { fields: ["amount"], by: "a" } },
      original_request: request("120"),
      approvals: [],
    };
    expect(render(verificationOf({ ...proven(1), human_authorization }))).toContain(
      "Changedamount from 120.00 EUR to 80.00 EUR, by an approver",
    );
    expect(render(verificationOf(proven(1)))).not.toContain("Changed");
  });

  it("names the attestation that it follows from, with a link if that is in a log of this host", () => {
    const id = "019a0000-0000-7000-8000-000000000007";
    const follow = (origin: string, valid = true) => {
      const parent = { id, payload_hash: "ab".repeat(32), origin };
      const payload = JSON.stringify({ predicate: { registered: {}, request: { parent } } });
      const own = { origin: "countersign.example/log/2", index: 0, tree_size: 1 };
      return renderToStaticMarkup(
        <ReceiptFacts verification={verificationOf({ payload, valid, log: own })} surroundings={null} />,
      );
    };
    const own = follow("countersign.example/log");
    expect(own).toContain(`href="/verify/${id}"`);
    expect(own.replaceAll(/<[^>]+>/g, "")).toContain(
      `Follows fromAttestation ${id} in the log countersign.example/logSaid by the agent, not checked here`,
    );
    for (const other of ["countersign.example.evil/log", "other.example/log"]) {
      const shown = follow(other);
      expect(shown).not.toContain(`/verify/${id}`);
      expect(shown.replaceAll(/<[^>]+>/g, "")).toContain(`Attestation ${id} in the log ${other}`);
    }
    expect(follow("countersign.example/log", false)).not.toContain("Follows from");
  });

  it("has no green beside the record's own", () => {
    const html = renderToStaticMarkup(
      <ReceiptFacts
        verification={verificationOf({ ...proven(2), agent_authenticated: true })}
        surroundings={surroundings()}
      />,
    );
    expect(html).not.toMatch(/text-pass|bg-pass/);
  });

  const usual = { approvals: { word: "Paid", approved: 9, of: 10 }, signatures: null };

  it("says that an approval is missing which the agent's reports usually have", () => {
    const habits = surroundings({ habits: usual });
    expect(render(verificationOf({}), habits)).toContain(
      "This agent usually has an approval for “Paid …” (9 of the last 10); here there is none.",
    );
    const asserted = verificationOf({ human_approved: true, human_approval: { method: "hash" } });
    expect(render(asserted, habits)).toContain("here none is proven.");
    expect(render(verificationOf(proven(1)), habits)).not.toContain("usually");
  });

  it("says that the agent's signatures have ended, and not so of a signed report", () => {
    const until = "2026-11-01T00:00:00.000Z";
    const ended = surroundings({ habits: { approvals: null, signatures: { until, isResumed: false } } });
    expect(render(verificationOf({}), ended)).toContain(
      "It signed reports until 2026-11-01 00:00:00 UTC, none since.",
    );
    expect(render(verificationOf({ agent_authenticated: true }), ended)).not.toContain("none since");
    const resumed = surroundings({ habits: { approvals: null, signatures: { until, isResumed: true } } });
    expect(render(verificationOf({}), resumed)).toContain("before and after this one");
  });
});

describe("the limits below a receipt", () => {
  const read = (fields: object) =>
    renderToStaticMarkup(<NotProvenLine answer={verificationOf(fields).answer} />);

  it("say that the payee of an approved amount isn't in it, where the details are only hashed", () => {
    const request = { action: "Pay", amount: { value: "12", currency: "EUR" }, agent_slug: "bot" };
    const payload = JSON.stringify({
      predicate: {
        ...{ request: { action: "Pay", agent_slug: "bot" }, human_approval: proven(1).human_approval },
        timestamp: "2026-11-24T12:00:00.000Z",
      },
    });
    expect(read({ ...proven(1), payload, human_authorization: { request } })).toContain(
      "as reported, or to whom: of the details that were approved, only a hash is signed.",
    );
    expect(read({})).toContain("as reported. <a");
    expect(read({ valid: false })).toBe("");
  });
});
