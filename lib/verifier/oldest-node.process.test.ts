/** The programs that people download give the same output on the oldest Node 20 as on this one: verify.mjs, countersign.mjs and the client. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { startTestApp, type TestApp } from "#support/app";
import { expectExit, runProgram } from "#support/commands";
import { type Listening, listenFor } from "#support/listen";
import { findOldestNode } from "#support/oldest-node";
import { collect } from "#support/packs";
import { signInPerson } from "#support/portal";

const found = await findOldestNode();
const missing = "missing" in found ? found.missing : null;
const oldest = "program" in found ? found.program : "";
const dist = (name: string) => path.resolve("dist", name);

if (missing !== null) it.skip(`not tested here: ${missing}`, () => {});

describe.skipIf(missing !== null)("on Node 20.0", () => {
  let test: TestApp;
  let server: Listening;
  let key: string;
  let organizationId: string;
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-oldest-"));
  const run = (node: string, ...args: string[]) =>
    runProgram(node, args, { cwd: folder, env: { COUNTERSIGN_URL: server.base, COUNTERSIGN_API_KEY: key } });
  /** The same words and exit code from both. */
  const compare = async (...args: string[]) => {
    const [old, own] = [await run(oldest, ...args), await run(process.execPath, ...args)];
    expect(old).toEqual(own);
    return old;
  };
  beforeAll(async () => {
    test = await startTestApp();
    ({ key, organizationId } = await test.createKey());
    server = await listenFor(test);
  });
  afterAll(async () => {
    await server?.close();
    await test?.close();
    rmSync(folder, { recursive: true });
  });

  it("is what runs", async () => expect((await run(oldest, "--version")).out).toBe("v20.0.0\n"));

  it("verify.mjs judges golden receipts as here", async () => {
    const vectors = path.resolve("public/vectors/1.0.0");
    const codes: Record<string, number> = {
      "human-approved.json": 0,
      "receipt.tlog-proof": 0,
      "erased.json": 3,
    };
    for (const [file, code] of Object.entries(codes)) {
      const given = [dist("verify.mjs"), path.join(vectors, file), "--keys", path.join(vectors, "keys.json")];
      expectExit(await compare(...given), code);
    }
  });

  it("countersign.mjs attests, and verify.mjs checks the evidence pack of it", async () => {
    const attest = ["attest", "old-bot", "Paid", "--inputs-hash", "sha256:aa", "--json"];
    const made = await run(oldest, dist("countersign.mjs"), ...attest);
    expectExit(made, 0);
    const { attestation_id: id } = JSON.parse(made.out);
    expectExit(await compare(dist("countersign.mjs"), "verify", id), 0);
    expectExit(await compare(dist("countersign.mjs"), "--help"), 0);
    const person = await signInPerson(test.app.context, "dev@example.com", organizationId);
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const to = new Date(Date.now() + 3_600_000).toISOString();
    const request = { agentSlugs: ["old-bot"], period: { from, to }, withPrivate: true };
    const { parts } = await makeEvidencePack(test.app.context, person, request);
    writeFileSync(path.join(folder, "pack.zip"), await collect(parts));
    const checked = await compare(dist("verify.mjs"), "pack", "pack.zip");
    expect(checked.out).toContain("old-bot");
  });

  it("the client hashes and attests", async () => {
    const program = `
      const { createCountersign, hashInputs } = await import(${JSON.stringify(pathToFileURL(dist("client/client.mjs")))});
      const client = createCountersign({ baseUrl: process.env.COUNTERSIGN_URL, apiKey: process.env.COUNTERSIGN_API_KEY });
      const made = await client.attest({ agent_slug: "old-bot", action: "Paid", inputs_hash: hashInputs({ a: 1 }) });
      console.log((await client.verify(made.attestation_id)).verdict);`;
    const ran = await run(oldest, "--input-type=module", "-e", program);
    expect(ran).toEqual({ code: 0, out: "valid\n" });
  });
});
