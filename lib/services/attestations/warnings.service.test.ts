/** Warnings over the API: each cause by its code, and nothing else. */
import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { toVerdict } from "#components/verify/facts";
import { verifyForPage } from "#lib/server/pages/public-pages";
import { readOverview } from "#lib/services/portal/overview";
import { verifyInBrowser } from "#lib/verifier/browser";
import { wordsFor } from "#lib/verifier/report/report";
import { ask } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { readExample } from "./list";

const raw = () =>
  generateKeyPairSync("ed25519")
    .publicKey.export({ format: "der", type: "spki" })
    .subarray(-32)
    .toString("base64");
const wrong = { agent_signature: `${"A".repeat(85)}A==` };
const other = { code_hash: "git:evil" };
const unknown = { tools_used: ["fs.read", "shell.exec"] };

type Entry = { attestation_id: string; warnings: { code: string; message: string }[] };
const codesOf = ({ warnings }: Pick<Entry, "warnings">) => warnings.map(({ code }) => code);

describe("warnings", () => {
  const { test } = setupTestApp();
  let key: string;
  let organizationId: string;
  const attest = async (body: object = {}) => {
    const all = { agent_slug: "bot", action: "Did it", inputs_hash: "sha256:abc", ...body };
    const made = await test.call("POST", "/v1/attest", { key, body: all });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body.attestation_id as string;
  };
  const read = async (id: string, as?: string) =>
    (await test.call("GET", `/v1/verify/${id}`, as === undefined ? {} : { key: as })).body;
  const list = async (address: string) => {
    const { status, body } = await test.call("GET", address, { key });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.attestations as Entry[];
  };

  beforeAll(async () => {
    ({ key, organizationId } = await test.createKey());
    const body = { slug: "bot", public_key: raw(), code_hash: "git:good", tools: ["fs.read"] };
    expect((await test.call("POST", "/v1/identity/register", { key, body })).status).toBe(201);
  });

  it.each([
    ["nothing sent", {}, []],
    ["all that fits", { code_hash: "git:good", tools_used: ["fs.read"] }, []],
    ["another signature", wrong, ["agent_signature_invalid"]],
    ["other code", other, ["code_hash_mismatch"]],
    ["an unknown tool", unknown, ["tools_not_registered"]],
    ["a skipped number", { client: { instance: "one", sequence: 5 } }, ["client_gap"]],
    ["an assertion", { human_approved: true }, ["approval_asserted_only"]],
    [
      "all of it",
      { ...wrong, ...other, ...unknown, human_approved: true },
      ["agent_signature_invalid", "code_hash_mismatch", "tools_not_registered", "approval_asserted_only"],
    ],
  ])("of %s, for the public and in private, by the service and by an outsider", async (_, body, codes) => {
    const keys = (await test.call("GET", "/v1/pubkey")).body;
    for (const is_public of [true, false]) {
      const id = await attest({ ...body, is_public });
      for (const as of [undefined, key]) {
        const answer = await read(id, as);
        expect([answer.valid, codesOf(answer)]).toEqual([true, codes]);
        const report = await verifyInBrowser(answer, keys);
        expect(report.verdict).toBe(answer.payload === null ? "incomplete" : "valid");
        const own = [...codesOf(report), ...report.statedWarnings];
        expect(own).toEqual(codes);
        if (answer.payload !== null) expect(report.statedWarnings).toEqual([]);
        expect(wordsFor(report).title.includes("warning")).toBe(codes.length > 0);
      }
      const { title, kind: look, short } = toVerdict(await verifyForPage(test.app.context, id, "192.0.2.1"));
      expect(/\d warnings?\b/.test(title)).toBe(codes.length > 0);
      expect(/\d warnings?\b/.test(short)).toBe(codes.length > 0);
      expect(look === "warned").toBe(codes.length > 0);
    }
  });

  it("name the tools, and tell a stranger of a private record nothing of its content", async () => {
    const shown = await read(await attest(unknown));
    expect(shown.warnings[0].message).toContain("shell.exec");
    const id = await attest({ ...unknown, is_public: false });
    expect(JSON.stringify(await read(id))).not.toContain("shell.exec");
    expect((await read(id, key)).warnings[0].message).toContain("shell.exec");
  });

  it("mark a TEST approval, in private too", async () => {
    for (const is_public of [true, false]) {
      const asked = await ask(test, key, { agent_slug: "bot", action: "Paid" });
      expect((await asked.approve("ada")).status).toBe(200);
      const { human_authorization } = (await asked.read(key)).body;
      const id = await attest({ action: "Paid", human_authorization, is_public });
      const answer = await read(id);
      expect([answer.valid, codesOf(answer)]).toEqual([true, ["approval_test"]]);
      expect(toVerdict(await verifyForPage(test.app.context, id, "192.0.2.1")).kind).toBe("test");
    }
  });

  it("say that erased content is gone", async () => {
    const id = await attest(unknown);
    expect((await test.call("DELETE", `/v1/attestations/${id}/content`, { key })).status).toBe(200);
    expect(await read(id)).toMatchObject({ valid: null, warnings: [{ code: "content_erased" }] });
    const [entry] = await list("/v1/attestations?limit=1");
    expect([entry?.attestation_id, entry && codesOf(entry)]).toEqual([id, ["content_erased"]]);
  });

  it("are none of a record that is not authentic: nothing that it says counts", async () => {
    const id = await attest(unknown);
    await test.query(
      "UPDATE attestations SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'Did it', 'Did so'), 'UTF8') WHERE id = $1",
      [id],
    );
    expect(await read(id)).toMatchObject({ valid: false, warnings: [] });
    const page = toVerdict(await verifyForPage(test.app.context, id, "192.0.2.1"));
    expect(page).toMatchObject({ kind: "invalid", title: "Not authentic" });
    await test.call("DELETE", `/v1/attestations/${id}/content`, { key });
  });

  it("are in every list as in the answer, and are found by the filter alone", async () => {
    for (const address of ["/v1/attestations?limit=100", "/v1/agent/bot?limit=100"]) {
      const all = await list(address);
      const bad = all.filter(({ warnings }) => warnings.length > 0);
      expect([bad.length > 5, bad.length < all.length]).toEqual([true, true]);
      for (const { attestation_id: id, warnings } of all.slice(0, 12))
        expect(codesOf({ warnings })).toEqual(codesOf(await read(id, key)));
      expect(await list(`${address}&warnings=true`)).toEqual(bad);
      expect(await list(`${address}&warnings=false`)).toEqual(all.filter((one) => !bad.includes(one)));
      expect((await test.call("GET", `${address}&warnings=yes`, { key })).status).toBe(400);
    }
  });

  it("are counted on the portal's first page, and shown with the landing page's example", async () => {
    const all = await list("/v1/attestations?limit=100");
    const person = await signInPerson(test.app.context, "dev@example.com");
    expect(person.organizationId).toBe(organizationId);
    const { context } = test.app;
    const warned = async (environment: "staging" | "production") => {
      const worldId = { ...context.worldId, environment };
      return (await readOverview({ ...context, worldId }, person)).warned.count;
    };
    const has = (codes: string[]) => (one: Entry) => codesOf(one).some((code) => !codes.includes(code));
    expect(await warned("production")).toBe(all.filter(has([])).length);
    // A TEST instance says once, in a bar, that every approval is a TEST.
    expect(await warned("staging")).toBe(all.filter(has(["approval_test"])).length);
    expect(all.filter(has([])).length).toBeGreaterThan(all.filter(has(["approval_test"])).length);
    const id = await attest(unknown);
    const latest = await readExample(test.app.context, { id });
    expect([latest?.publicUrl.endsWith(id), latest && codesOf(latest)]).toEqual([
      true,
      ["tools_not_registered"],
    ]);
  });

  it("are drawn from the bytes: a changed search aid changes no answer", async () => {
    const before = await list("/v1/attestations?limit=100");
    expect(before.some(({ warnings }) => warnings.length > 0)).toBe(true);
    await test.query("UPDATE attestations SET warnings = '{}'", []);
    expect(await list("/v1/attestations?limit=100")).toEqual(before);
  });
});
