/** Processes that gate the same call run its action once, also if the one that claimed it dies. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { approveUnproven, openNext } from "#support/authorizations";
import { runProgram } from "#support/commands";
import { type Listening, listenFor } from "#support/listen";
import { setupTestApp } from "#support/setup-app";

const program = `
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createCountersign } from "./lib/client/create";

const [baseUrl, apiKey, agent_slug, file, ending] = process.argv.slice(2);
const action = { agent_slug, action: "Pay invoice 1042", runId: "thread-1", callId: "call-1" };
const run = async ({ cents }) => {
  appendFileSync(file, cents + "\\n");
  await sleep(200);
  if (ending === "dies") process.exit(9);
};
try {
  const onRequest = () => appendFileSync(file + "-asked", "asked\\n");
  await createCountersign({ baseUrl, apiKey }).gate({ ...action, onRequest }, { cents: 10_000 }, run);
  console.log("ran");
} catch (error) {
  console.log(error.name);
}`;

const { test } = setupTestApp();
let service: Listening;
let key: string;
let folder: string;
const inFolder = (name: string) => path.join(folder, name);
beforeAll(async () => {
  service = await listenFor(test);
  ({ key } = await test.createKey());
  folder = await mkdtemp(path.join(tmpdir(), "countersign-gates-"));
  const stdin = { contents: program, resolveDir: process.cwd() };
  const outfile = inFolder("program.mjs");
  const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const output = { outfile, format: "esm", platform: "node", banner: { js } } as const;
  await build({ stdin, bundle: true, external: ["#lib/client/api/verify"], ...output });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const start = async (agent: string, ending: string) => {
  const args = [inFolder("program.mjs"), service.base, key, agent, inFolder(agent), ending];
  return (await runProgram(process.execPath, args, { env: {} })).out.trim();
};
const list = async (what: "authorizations" | "attestations", agent: string) =>
  (await test.call("GET", `/v1/${what}?agent_slug=${agent}`, { key })).body[what];

it("runs once in three processes at once", async () => {
  await writeFile(inFolder("thrice"), "");
  const outs = Promise.all([1, 2, 3].map(() => start("thrice", "ends")));
  const { requestId } = await openNext(test, key, "thrice");
  // A call that begins after the attestation asks a new question.
  const readAsked = () => readFile(inFolder("thrice-asked"), "utf8").catch(() => "");
  await vi.waitUntil(async () => (await readAsked()).length === 3 * "asked\n".length, { timeout: 60_000 });
  await approveUnproven(test, requestId);
  const refused = ["ApprovalClaimedError", "ApprovalUsedError"];
  const ended = (await outs).sort();
  expect(ended.filter((out) => out === "ran")).toHaveLength(1);
  expect(ended.filter((out) => refused.includes(out))).toHaveLength(2);
  expect(await readFile(inFolder("thrice"), "utf8")).toBe("10000\n");
  expect(await list("authorizations", "thrice")).toHaveLength(1);
  expect(await list("attestations", "thrice")).toHaveLength(1);
});

it("does not run again if the process that ran it died before it could attest", async () => {
  await writeFile(inFolder("dying"), "");
  const first = start("dying", "dies");
  await approveUnproven(test, (await openNext(test, key, "dying")).requestId);
  expect(await first).toBe("");
  expect(await start("dying", "ends")).toBe("ApprovalClaimedError");
  expect(await readFile(inFolder("dying"), "utf8")).toBe("10000\n");
  expect(await list("authorizations", "dying")).toMatchObject([
    { status: "approved", attestation_id: null, run: expect.stringMatching(/^gate-/) },
  ]);
});
