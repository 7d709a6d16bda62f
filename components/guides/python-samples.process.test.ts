/** Runs the pages' Python samples as printed, by clients/python against a real service. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDocument } from "#components/api-reference/document";
import { listEntries } from "#components/api-reference/entries";
import { writeSamples } from "#components/api-reference/samples";
import { runProgram } from "#support/commands";
import { findPython, type PythonService, startPythonService } from "#support/python";

const python = await findPython("core");
if (python.missing) console.warn(`Skipped: what pages print for Python. ${python.missing}`);

const agent = "guide-agent";

describe.skipIf(python.missing)("Python on the pages (run by npm run test:python)", () => {
  let service: PythonService;
  let folder: string;
  beforeAll(async () => {
    service = await startPythonService();
    folder = await mkdtemp(path.join(tmpdir(), "countersign-python-"));
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  const run = (code: string) =>
    runProgram(python.path ?? "", ["-c", code], { cwd: folder, env: { ...service.env, AGENT: agent } });
  const decide = (what: string) =>
    fetch(`${service.env["COUNTERSIGN_CONTROL_URL"]}/${what}`, {
      method: "POST",
      body: JSON.stringify({ agent_slug: agent }),
    });

  async function readGuide(slug = "python"): Promise<string[]> {
    const text = await readFile(`components/guides/content/${slug}.md`, "utf8");
    const fences = text.replaceAll("{base}", service.base).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
    return [...fences].filter(([, language]) => language === "python").map(([, , code = ""]) => code);
  }

  it("does what the quick start prints", async () => {
    const [program = "", ...more] = await readGuide("quick-start");
    expect(more).toEqual([]);
    const done = await run(program);
    expect(done).toEqual({
      code: 0,
      out: expect.stringMatching(/^http\S+\/verify\/invoice-bot-\S+\nvalid\n$/),
    });
  });

  it("does what the guide prints", async () => {
    const pubkey = await (await fetch(`${service.base}/v1/pubkey`)).text();
    await writeFile(path.join(folder, "keys.json"), pubkey);
    const [attest = "", gate = "", steps = "", verify = "", ...more] = await readGuide();
    expect(more).toEqual([]);
    const matching = (pattern: RegExp) => ({ code: 0, out: expect.stringMatching(pattern) });
    expect(await run(attest)).toEqual(matching(/^http\S+\/verify\/guide-agent\/\S+\n$/));
    const [gated] = await Promise.all([run(gate), decide("approve-next")]);
    expect(gated).toEqual(matching(/^http\S+\/approve\/\S+ \S+\npaid 10000 EUR\n$/));
    const [again] = await Promise.all([run(gate), decide("approve-next")]);
    expect(again, "asked again").toEqual(matching(/\npaid 10000 EUR\n$/));
    expect(again.out).not.toBe(gated.out);
    const [denied] = await Promise.all([run(gate.replaceAll("1042", "1045")), decide("deny-next")]);
    expect(denied).toEqual(matching(/\nNot paid: \S/));
    const [stepped] = await Promise.all([run(steps), decide("approve-next")]);
    expect(stepped).toEqual(matching(/this run has the approval\.\n$/));
    expect(await run(verify)).toEqual({ code: 0, out: "valid True []\n" });
  });

  it("does what the API reference prints: every sample compiles, and these run", async () => {
    const entries = listEntries(readDocument(service.base));
    const codes = entries.map((entry) => ({
      id: entry.operation.operationId,
      code: writeSamples(entry).find(({ id }) => id === "python")?.code,
    }));
    await writeFile(path.join(folder, "samples.json"), JSON.stringify(codes));
    const program = `
import json
run = {"attest", "authorize", "registerIdentity", "keyInfo", "listAttestations", "pubkey", "log_checkpoint", "openapi"}
samples = json.load(open("samples.json"))
for sample in samples:
    code = compile(sample["code"], sample["id"], "exec")
    if sample["id"] in run:
        exec(code, {})
        run.remove(sample["id"])
assert not run, run
print(len(samples))`;
    const done = await run(program);
    const last = done.out.trim().split("\n").at(-1);
    expect({ code: done.code, last }, done.out.slice(-500)).toEqual({
      code: 0,
      last: String(entries.length),
    });
  });
});
