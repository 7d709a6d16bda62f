import { beforeAll, describe, expect, it } from "vitest";
import { verifyInBrowser } from "#lib/verifier/browser";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { formatReport } from "#lib/verifier/cli/io";
import { ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";
import { parseEvidence } from "./evidence";

describe("what is no evidence", () => {
  it.each(["\u0089PNG\r\n", "%PDF-1.7", "Dear auditor,", "<!doctype html>", ""])(
    "is said to be of no known kind, and a parser isn't quoted: %j",
    (text) => expect(() => parseEvidence(text)).toThrow(/^neither an attestation/),
  );

  it("and is cut off or malformed says where", () => {
    expect(() => parseEvidence('{"attestation_id":')).toThrow("not strict JSON");
  });
});

describe("the answers of a running service", () => {
  const { test, key } = setupTestApp();
  let trust: unknown;
  const attest = async (body: object) => {
    const all = { agent_slug: "invoice-bot", action: "Paid 12 €", inputs_hash: "sha256:abc", ...body };
    const { body: made } = await test.call("POST", "/v1/attest", { key, body: all });
    return made;
  };
  beforeAll(async () => {
    trust = (await test.call("GET", "/v1/pubkey")).body;
  });

  it("are valid for an outsider, by all checks of the fixed list", async () => {
    const made = await attest({ metadata: { n: 1 }, human_approved: true });
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    for (const answer of [made, body, JSON.stringify(body)]) {
      const report = await verifyInBrowser(answer, trust);
      expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
      expect(report.verdict).toBe("valid");
      expect(report.checks.map(({ name }) => name)).toEqual([...attestationChecks, "restated_fields"]);
    }
  });

  it("are caught where the service says valid over changed bytes", async () => {
    const made = await attest({ metadata: { n: 2 } });
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    const lie = { ...body, valid: true, payload: body.payload.replace("Paid 12", "Paid 99") };
    const report = await verifyInBrowser(lie, trust);
    expect(report).toMatchObject({ verdict: "invalid", claimed: true, disagrees: true, statement: null });
  });

  it("say nothing of a person's approval, or of a time, if any check failed", async () => {
    const asked = await ask(test, key, { agent_slug: "invoice-bot" });
    await asked.approve("ada");
    const { human_authorization: whole } = (await asked.read(key)).body;
    const good = await verifyInBrowser(whole, trust);
    expect(formatReport(good, "")).toContain("Human approval: ");
    const { log: _log, ...alone } = whole;
    expect(await verifyInBrowser(alone, trust)).toMatchObject({
      verdict: "incomplete",
      missing: ["decision_log"],
    });
    const bad = { ...whole, log: { ...whole.log, inclusion_proof: [] } };
    const report = await verifyInBrowser(bad, trust);
    expect(report).toMatchObject({ verdict: "invalid", authorization: null });
    expect(formatReport(report, "")).not.toContain("Human approval: ");
  });

  it("are not read where a number means another value than the one it would be compared as", async () => {
    const made = await attest({ metadata: { amount: 1234567890123456.8, whole: 1 } });
    const { body } = await test.call("GET", `/v1/verify/${made.attestation_id}`);
    const text = JSON.stringify(body);
    const spell = (amount: string, whole = "1") =>
      text.replace(
        '"metadata":{"amount":1234567890123456.8,"whole":1}',
        `"metadata":{"amount":${amount},"whole":${whole}}`,
      );
    expect(spell("7")).not.toBe(text);
    expect((await verifyInBrowser(spell("1234567890123456.80", "10e-1"), trust)).verdict).toBe("valid");
    for (const amount of ["1234567890123456.78", "1234567890123456.7999999999", "1e400"])
      await expect(verifyInBrowser(spell(amount), trust)).rejects.toThrow(
        `the number ${amount} would become`,
      );
    await expect(
      verifyInBrowser(spell("1234567890123456.8", "1.00000000000000001"), trust),
    ).rejects.toThrow();
    expect((await verifyInBrowser(spell("1234567890123456.5"), trust)).verdict).toBe("invalid");
  });

  it("of a private attestation are incomplete for a stranger and valid for its owner", async () => {
    const made = await attest({ is_public: false });
    const path = `/v1/verify/${made.attestation_id}`;
    const shown = await verifyInBrowser((await test.call("GET", path)).body, trust);
    expect(shown.verdict).toBe("incomplete");
    expect(shown.unproven).toContain("agent_slug");
    const owner = await verifyInBrowser((await test.call("GET", path, { key })).body, trust);
    expect(owner.verdict).toBe("valid");
  });
});
