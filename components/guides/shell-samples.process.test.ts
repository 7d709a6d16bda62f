/** Commands that pages show, run in bash as they are printed: alone, and by a second organization too. */
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDocument } from "#components/api-reference/document";
import { listEntries } from "#components/api-reference/entries";
import { writeSamples } from "#components/api-reference/samples";
import { usualScopes } from "#lib/api/schemas/key-choices";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { readApprovalToken } from "#lib/services/approvals/rows";
import { approveByPasskey } from "#lib/services/approvals/world-id/submissions";
import { approveUnproven, ask, openNext } from "#support/authorizations";
import { type CommandRun, runProgram } from "#support/commands";
import { enrolApprover } from "#support/enrol";
import { type Listening, listenFor } from "#support/listen";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { guideEntries } from "./guides-index";

const { test } = setupTestApp();
let service: Listening;
let keys: string[];
let folder: string;

beforeAll(async () => {
  service = await listenFor(test);
  keys = [(await test.createKey("first@example.com")).key, (await test.createKey("second@example.com")).key];
  folder = await mkdtemp(path.join(tmpdir(), "countersign-samples-"));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const readFences = (text: string) =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);

async function readGuide(slug: string): Promise<string[]> {
  const text = await readFile(`components/guides/content/${slug}.md`, "utf8").catch(() => "");
  return readFences(text.replaceAll("{base}", service.base));
}

/** Nothing but the key is set, as in a new shell. */
const runIn = (key: string, script: string): Promise<CommandRun> =>
  runProgram("bash", ["--norc", "-euo", "pipefail", "-c", script], {
    cwd: folder,
    env: { PATH: process.env["PATH"], COUNTERSIGN_API_KEY: key },
  });

describe("the guides' commands", () => {
  it.each(guideEntries)("$slug: set what they use, but for the key", async ({ slug }) => {
    const known = new Set(["COUNTERSIGN_API_KEY"]);
    // Variables of somebody who stops an agent.
    if (slug === "stop")
      for (const name of ["AGENT", "REQUEST_ID", "COUNTERSIGN_FREEZE_KEY"]) known.add(name);
    for (const line of (await readGuide(slug)).join("\n").split("\n")) {
      for (const [, name = ""] of line.matchAll(/(?:^|\s)([A-Z][A-Z_]*)=/g)) known.add(name);
      for (const [, name = ""] of line.matchAll(/\$\{?([A-Z][A-Z_]*)/g))
        expect([...known], line).toContain(name);
    }
  });

  it("approve: from the request to the attestation, for two organizations", async () => {
    const [request = "", wait = "", claim = "", attest = ""] = await readGuide("approve");
    for (const key of keys) {
      const asked = await runIn(key, `${request}\necho "$AGENT"`);
      const printed = /^http\S+\/approve\/\S+\n\S{3}-\S{3}\n(\S+)\n$/.exec(asked.out);
      expect(printed, asked.out).not.toBeNull();
      const { requestId } = await openNext(test, key);
      await approveUnproven(test, requestId);
      expect((await runIn(key, wait)).out).toContain('"status":"approved"');
      expect((await runIn(key, claim)).out).toMatch(/^\d{4}-\S+Z\nrun-\d+-\d+\n$/);
      const attested = await runIn(key, `AGENT=${printed?.[1]}\n${attest}`);
      expect(attested).toEqual({
        code: 0,
        out: expect.stringMatching(/^http\S+\/verify\/invoice-bot-\S+\n$/),
      });
    }
  });

  it("own-tool: other people's tools verify a receipt, and not with other keys", async () => {
    const [fetchAll = "", openssl = "", sigstore = ""] = await readGuide("own-tool");
    const key = keys[0] ?? "";
    const body = { agent_slug: "own-tool-bot", action: "Pay", inputs_hash: `sha256:${"a".repeat(64)}` };
    const made = (await test.call("POST", "/v1/attest", { key, body })).body;
    const got = await runIn(key, fetchAll.replaceAll("ATTESTATION_ID", made.attestation_id));
    expect(got.code, got.out).toBe(0);
    expect((await runIn(key, openssl)).out).toContain("Signature Verified Successfully");
    // The packages are installed here already.
    await symlink(path.resolve("node_modules"), path.join(folder, "node_modules"));
    const check = sigstore.replace(/^npm install .*\n/, "");
    expect(check).not.toBe(sigstore);
    expect(await runIn(key, check)).toMatchObject({ code: 0, out: "verified\n" });
    await writeFile(path.join(folder, "trusted_root.json"), JSON.stringify({ tlogs: [] }));
    expect((await runIn(key, "node check.mjs 2>&1 || echo refused")).out).toContain("refused");
  });

  it("approve: say why they failed, and fail", async () => {
    const [request = ""] = await readGuide("approve");
    const refused = await runIn("cs_live_nobody", `set +e\n${request}`);
    expect(refused.code).not.toBe(0);
    expect(refused.out).toMatch(/API key/);
    expect(refused.out).not.toContain("null");
  });

  it("two-of-finance: from the request to the decision of two", async () => {
    const { context } = test.app;
    const [request = "", wait = ""] = await readGuide("two-of-finance");
    const { key, organizationId } = await test.createKey("asker@example.com");
    const owner = await signInPerson(context, "asker@example.com", organizationId);
    expect((await runIn(key, `set +e\n${request}`)).out).toContain("is not a group of your organization");
    const people = [];
    for (const name of ["Carol", "Dave"]) people.push(await enrolApprover(test, owner, name));
    await saveGroup(context, owner, { id: null, name: "finance", memberIds: people.map(({ id }) => id) });
    const asked = await runIn(key, request);
    expect(asked.out).toMatch(/^http\S+\/approve\/\S+\n2\n$/);
    const token = asked.out.split("\n")[0]?.split("/").at(-1) ?? "";
    const waiting = runIn(key, wait);
    for (const { passkey } of people) {
      const hash = (await readApprovalView(context, token))?.binding.request_hash ?? "";
      const { public_key: _key, ...sent } = passkey.assert(approvalChallenge(hash, "approve"));
      await approveByPasskey(
        context,
        readApprovalToken(context, token) ?? "",
        { passkey: sent },
        "192.0.2.7",
      );
    }
    expect((await waiting).out).toBe("approved\n2\n");
  });

  it("authzen: an evaluation, and the request that it says to make", async () => {
    const [evaluate = "", request = ""] = await readGuide("authzen");
    const [key = ""] = keys;
    expect((await runIn(key, evaluate)).out).toBe("false\n");
    expect((await runIn(key, request)).out).toMatch(/^http\S+\/approve\/\S+\n$/);
  });

  it("rules: a request for a standing approval, for two organizations", async () => {
    const [request = ""] = await readGuide("rules");
    for (const key of keys) {
      const { code, out } = await runIn(key, request);
      expect([code, JSON.parse(out)]).toMatchObject([0, { status: "pending", grant: { max_calls: 20 } }]);
    }
  });

  it("stop: an agent, until it may go on, and an approval", async () => {
    const [freeze = "", unfreeze = "", revoke = ""] = await readGuide("stop");
    const [key = ""] = keys;
    const { key: usual } = await test.createKey("first@example.com", usualScopes);
    const { made } = await ask(test, key, { agent_slug: "invoice-bot-stopped" });
    await approveUnproven(test, made.request_id);
    const given = `AGENT=invoice-bot-stopped\nREQUEST_ID=${made.request_id}`;
    const asAgent = `${given}\nCOUNTERSIGN_FREEZE_KEY=${usual}`;
    expect(await runIn(usual, `${given}\n${freeze}`)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d{4}-/),
    });
    expect((await runIn(usual, `${asAgent}\n${unfreeze}`)).out).toContain("403");
    const asOwner = `${given}\nCOUNTERSIGN_FREEZE_KEY=${key}`;
    expect(await runIn(usual, `${asOwner}\n${unfreeze}`)).toEqual({ code: 0, out: "invoice-bot-stopped\n" });
    expect(await runIn(usual, `${given}\n${revoke}`)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d{4}-/),
    });
  });

  it("zero-knowledge: for two organizations", async () => {
    for (const key of keys)
      for (const command of await readGuide("zero-knowledge"))
        expect(await runIn(key, command)).toMatchObject({ code: 0 });
  });
});

describe("the API reference's commands that name an agent", () => {
  it.each(["attest", "authorize", "registerIdentity"])("%s: for two organizations", async (operationId) => {
    const entries = listEntries(readDocument(service.base));
    const entry = entries.find(({ operation }) => operation.operationId === operationId);
    const samples = entry === undefined ? [] : writeSamples(entry);
    const command = samples.find(({ id }) => id === "curl")?.code ?? "";
    for (const key of keys) expect(await runIn(key, command)).toMatchObject({ code: 0 });
    for (const { id, code } of samples) expect(code, id).not.toMatch(/slug["']?: ["']\w/);
  });
});
