/** dist/verify.mjs as people run it: a process of its own, against a service on a port, and the lines of our answers. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { numberedFile } from "#lib/protocol/pack/pack-manifest";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { handleApiRequest } from "#lib/server/next/node-http";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { startTestApp, type TestApp } from "#support/app";
import { type CommandRun, expectExit, runProgram } from "#support/commands";
import { anyKind } from "#support/databases";
import { collect, forge, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { runHere } from "#support/verifier-run";
import { nodeIo, readProgramAt } from "./node-io";

const program = path.resolve("dist/verify.mjs");

// biome-ignore lint/suspicious/noExplicitAny: answers as they come
type Answer = any;

describe("verify.mjs", () => {
  let test: TestApp;
  let server: Server;
  let base: string;
  let folder: string;
  let key: string;
  let organizationId: string;
  let pubkey: Answer;
  let plain: Answer;
  let hidden: Answer;

  const inFolder = (name: string) => path.join(folder, name);
  const run = (file: string, args: string[], env: Record<string, string> = {}) =>
    runProgram(file, args, { cwd: folder, env: { PATH: process.env["PATH"], ...env } });
  const verify = (...args: string[]) => run(process.execPath, [program, ...args]);
  /** The same in this process, for what needs none of its own; each exit code comes from a process once. */
  const verifyHere = (...args: string[]): Promise<CommandRun> =>
    runHere(args, {
      readFile: (name) => nodeIo.readFile(inFolder(name)),
      openFile: (name) => nodeIo.openFile(inFolder(name)),
      isFile: (name) => nodeIo.isFile(inFolder(name)),
      writeFile: (name, text) => nodeIo.writeFile(inFolder(name), text),
      readProgram: readProgramAt(pathToFileURL(program).href),
    });
  const shell = (lines: string, env: Record<string, string> = {}) =>
    run("/bin/bash", ["--norc", "-e", "-o", "pipefail", "-c", lines], env);
  const attest = async (body: object): Promise<Answer> => {
    const all = { agent_slug: "invoice-bot", action: "Paid 12 €", inputs_hash: "sha256:abc", ...body };
    return (await test.call("POST", "/v1/attest", { key, body: all })).body;
  };
  const writeJson = async (name: string, value: unknown) => writeFile(inFolder(name), JSON.stringify(value));

  beforeAll(async () => {
    await readFile(program); // made by `node .ci/bundle.mjs`
    folder = await mkdtemp(path.join(tmpdir(), "countersign-verify-"));
    server = createServer((incoming, outgoing) => void handleApiRequest(incoming, outgoing));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    test = await startTestApp(anyKind, { PUBLIC_BASE_URL: base, LIMIT_ATTEST_PER_MINUTE: "10000" });
    ({ key, organizationId } = await test.createKey());
    plain = await attest({});
    hidden = await attest({ action: "Paid in private", is_public: false });
    pubkey = (await test.call("GET", "/v1/pubkey")).body;
    await writeJson("keys.json", pubkey);
  });
  afterAll(async () => {
    server.close();
    await test.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("passes the conformance suite by its runner, which fails a verifier that is content with everything", async () => {
    const runner = path.resolve("public/vectors/conformance/conformance.mjs");
    const conform = (...args: string[]) => run(process.execPath, [runner, "--only", "record", ...args]);
    const own = await conform("--without", "pack", "--", process.execPath, program);
    expect(own).toEqual({
      code: 0,
      out: expect.stringMatching(/^suite 1: \d\d passed, 0 failed, [1-9] skipped\n$/),
    });
    const lax = await conform("--", "echo", '{"verdict":"valid","checks":[]}');
    expect(lax).toMatchObject({
      code: 1,
      out: expect.stringContaining("exit code 0 instead of 1 (invalid)"),
    });
    expect((await conform("--without", "record", "--", "true")).code, "nothing ran").toBe(1);
    expect((await conform()).code).toBe(2);
  });

  it("is what verify_command fetches and runs, unchanged, and has the SHA-256 that is served beside it", async () => {
    const fetched = await shell(plain.verify_command);
    expect(fetched.out).toContain("Authentic record. Every check passed.");
    expect(fetched.out).toContain("Keys: NOT pinned.");
    expectExit(fetched, 0);
    expect((await readFile(inFolder("verify.mjs"))).equals(await readFile(program))).toBe(true);
    const sum = await shell(`curl -fsSO ${base}/verify.mjs.sha256 && sha256sum -c verify.mjs.sha256`);
    expect(sum).toEqual({ code: 0, out: "verify.mjs: OK\n" });
  });

  it("follows an agent's record, and says in words whether it is complete", async () => {
    await writeJson("receipt.json", plain);
    const follow = () =>
      verifyHere("record", base, "invoice-bot", "--receipt", "receipt.json", "--keys", "keys.json");
    const uncounted = await follow();
    expect(uncounted.out).toMatch(
      /not everything is counted: no signed count shows that number \d+ is the last/,
    );
    expectExit(uncounted, 3);
    await makeSnapshot({ ...test.app.context, merge: async (...heads) => mergeHeads(...heads) });
    const record = await follow();
    expect(record.out).toMatch(
      /The record is complete: (\d+) of \1 entries, none missing, none moved, as counted at 20.* UTC\./,
    );
    expect(record.out).toContain("the receipt is in the record");
    expectExit(record, 0);
    await writeJson("other.json", { ...plain, payload_hash: hidden.payload_hash });
    const refused = await verifyHere("record", base, "invoice-bot", "--receipt", "other.json", "--json");
    expect(JSON.parse(refused.out)).toMatchObject({
      kind: "record",
      verdict: "invalid",
      slug: "invoice-bot",
    });
    expectExit(refused, 1);
    expectExit(await verifyHere("record", base, "nobody"), 2);
  });

  it("agrees with the openssl lines of independent_verification, which run unchanged", async () => {
    const { body } = await test.call("GET", `/v1/verify/${plain.attestation_id}`);
    const lines = body.independent_verification.verify_signature;
    expect(await shell(lines)).toEqual({ code: 0, out: "Signature Verified Successfully\n" });
    expectExit(await shell(body.independent_verification.curl_pubkey), 0);
    const forged = lines.replace("jq -j .payload", `jq -j '.payload | sub("Paid 12"; "Paid 99")'`);
    expect(forged).not.toBe(lines);
    expectExit(await shell(forged), 1);
    const own = await test.call("GET", `/v1/verify/${hidden.attestation_id}`, { key });
    const ownLines = own.body.independent_verification.verify_signature;
    expectExit(await shell(ownLines, { COUNTERSIGN_API_KEY: key }), 0);
  });

  it("takes an id, an address, a page's address, a file and standard input", async () => {
    await writeJson("receipt.json", plain);
    const bundle = await test.call("GET", `/v1/verify/${plain.attestation_id}/bundle`);
    await writeJson("bundle.json", bundle.body);
    for (const args of [
      [plain.attestation_id, "--base", base],
      [`${base}/v1/verify/${plain.attestation_id}`],
      [`${base}/v1/verify/${plain.attestation_id}/bundle`],
      [plain.public_url],
      ["receipt.json", "--keys", "keys.json"],
      ["bundle.json", "--keys=keys.json"],
    ]) {
      expect((await verifyHere(...args)).out, args.join(" ")).toMatch(
        /^Authentic record\. Every check passed\.$/m,
      );
    }
    await writeFile(inFolder("payload.json"), plain.payload);
    const proof = [`${base}/v1/verify/${plain.attestation_id}/tlog-proof`];
    const compared = await verifyHere(...proof, "--payload", "payload.json");
    expect(compared.out).toMatch(/^Valid log proof\. Every check passed\.$/m);
    expect(compared.out).not.toContain("Not compared");
    const alone = await verifyHere(...proof);
    expect(alone.out).toMatch(
      /^Valid log proof\. The log has this leaf; whether it is your payload's was not/m,
    );
    expect(alone.out).toContain("Not compared: payload_hash. The proof of another leaf would pass too.");
    expectExit(alone, 0);
    const piped = await shell(`"${process.execPath}" "${program}" - --keys keys.json < receipt.json`);
    expectExit(piped, 0);
  });

  it("says what the keys are worth", async () => {
    await writeJson("receipt.json", plain);
    const logVkey = pubkey.log.vkey;
    await writeFile(inFolder("key.pem"), pubkey.public_key_pem);
    const files = await verifyHere("receipt.json", "--key", "key.pem", "--log-vkey", logVkey);
    expect(files.out).toContain("Keys: pinned by --key and --log-vkey.");
    expectExit(files, 0);
    const online = await verifyHere(
      plain.attestation_id,
      "--base",
      base,
      "--key",
      pubkey.public_key,
      "--json",
    );
    expect(JSON.parse(online.out)).toMatchObject({ verdict: "valid", keys: { pinned: true } });
    const other = Buffer.from(new Uint8Array(32).fill(9)).toString("base64");
    expectExit(await verifyHere("receipt.json", "--key", other, "--log-vkey", logVkey), 2);
    expect((await verifyHere("receipt.json")).out).toContain("no keys to trust");
  });

  it("fails a swapped key, with exit code 1", async () => {
    const stranger = await startTestApp();
    const foreign = (await stranger.call("GET", "/v1/pubkey")).body;
    await stranger.close();
    test.use();
    await writeJson("receipt.json", plain);
    await writeJson("foreign.json", foreign);
    const swapped = await verifyHere("receipt.json", "--keys", "foreign.json", "--json");
    expectExit(swapped, 1);
    expect(JSON.parse(swapped.out).verdict).toBe("invalid");
    await writeJson("mixed.json", { ...pubkey, log: foreign.log, logs: foreign.logs });
    expectExit(await verifyHere("receipt.json", "--keys", "mixed.json"), 1);
  });

  it("holds an attestation, whose payload may be hidden, and a bundle to --payload", async () => {
    const hidden = await attest({ is_public: false, agent_slug: "hidden-bot" });
    const { body } = await test.call("GET", `/v1/verify/${hidden.attestation_id}`);
    await writeJson("hidden.json", body);
    await writeFile(inFolder("hidden-payload.json"), hidden.payload);
    await writeFile(inFolder("payload.json"), plain.payload);
    const check = (file: string, payload: string) =>
      verifyHere(file, "--keys", "keys.json", "--payload", payload);
    await writeJson("receipt.json", plain);
    await writeJson(
      "bundle.json",
      (await test.call("GET", `/v1/verify/${plain.attestation_id}/bundle`)).body,
    );
    for (const file of ["receipt.json", "bundle.json"]) {
      expectExit(await check(file, "payload.json"), 0);
      const other = await check(file, "hidden-payload.json");
      expect([other.code, other.out]).toEqual([
        1,
        expect.stringMatching(/FAIL {2}payload +it is about another/),
      ]);
    }
    expectExit(await check("hidden.json", "hidden-payload.json"), 3);
    expectExit(await check("hidden.json", "payload.json"), 1);
  });

  it("takes nothing else for the attestation that was asked for", async () => {
    const approval = { request_id: "x", human_authorization: { type: "human_authorization" } };
    const proof = (await test.call("GET", `/v1/verify/${hidden.attestation_id}/tlog-proof`, { key })).body;
    let lie = "";
    const liar = createServer((_, outgoing) => outgoing.end(lie));
    await new Promise<void>((done) => liar.listen(0, "127.0.0.1", done));
    const { port } = liar.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/v1/verify/${plain.attestation_id}`;
    for (lie of [JSON.stringify(approval), proof]) {
      const { code, out } = await verifyHere(url, "--keys", "keys.json");
      expect([code, out.includes("where an attestation was asked for")]).toEqual([2, true]);
    }
    liar.close();
  });

  it("takes no option that its command has no use for", async () => {
    for (const args of [
      ["pack", "pack.zip", "--receipt", "receipt.json"],
      ["record", "http://127.0.0.1:1", "bot", "--payload", "payload.json"],
      ["receipt.json", "--all"],
    ]) {
      const { code, out } = await verifyHere(...args);
      expect([code, out]).toEqual([
        2,
        expect.stringContaining(`${args.find((one) => one.startsWith("--"))} can't be used`),
      ]);
    }
  });

  it("compares what it is given to compare with, and takes no file that can't be compared", async () => {
    const approval = JSON.parse(await readFile("public/vectors/1.0.0/human-authorization.json", "utf8"));
    await writeJson("approval.json", approval);
    await writeJson("receipt.json", plain);
    await writeFile(inFolder("payload.json"), plain.payload);
    const [keys, golden] = [
      ["--keys", "keys.json"],
      ["--keys", path.resolve("public/vectors/1.0.0/keys.json")],
    ];
    expectExit(await verifyHere("receipt.json", ...keys), 0);
    for (const args of [
      ["receipt.json", ...keys, "--nonce", "n-1"],
      ["receipt.json", ...keys, "--audience", "bank"],
      ["approval.json", ...golden, "--payload", "payload.json"],
    ])
      expectExit(await verifyHere(...args), 2);
    expectExit(await verifyHere("pack", "receipt.json"), 1);
    const witness = await verifyHere("pack", "receipt.json", "--witness", pubkey.log.vkey);
    expect([witness.code, witness.out]).toEqual([2, expect.stringContaining("no keys to trust")]);
  });

  it("tells valid, invalid, incomplete and unreadable apart by its exit code", async () => {
    const answer = (await test.call("GET", `/v1/verify/${plain.attestation_id}`)).body;
    await writeJson("lie.json", { ...answer, payload: answer.payload.replace("Paid 12", "Paid 99") });
    const lie = await verify("lie.json", "--keys", "keys.json");
    expectExit(lie, 1);
    expect(lie.out).toContain("The file says valid: true. This verifier says otherwise.");
    const address = `${base}/v1/verify/${hidden.attestation_id}`;
    expectExit(await verify(address), 3);
    const owner = await run(process.execPath, [program, address, "--as-owner"], { COUNTERSIGN_API_KEY: key });
    expectExit(owner, 0);
    expect(owner.out).toContain("Paid in private");
    const unknown = `${base}/v1/verify/01999999-9999-7999-8999-999999999999`;
    await writeJson("--receipt.json", plain);
    await writeJson("-5.json", plain);
    for (const args of [["--", "--receipt.json"], ["-5.json"], ["--receipt.json"]])
      expectExit(await verifyHere("--keys", "keys.json", ...args), 0);
    expect((await verifyHere("--jsn", "receipt.json")).out).toContain("unknown option --jsn");
    for (const args of [
      [],
      ["--nonsense"],
      ["no-such-file"],
      [unknown],
      ["keys.json", "--keys", "keys.json"],
      ["log", "check"],
      ["record", base],
      ["record", base, "a", "b"],
    ])
      expectExit(await verifyHere(...args), 2);
    expectExit(await verify("no-such-file"), 2);
  });

  it("prints each warning beside the authenticity, and fails on them if asked to", async () => {
    const body = { slug: "warned-bot", code_hash: "git:good", tools: ["fs.read"] };
    expect((await test.call("POST", "/v1/identity/register", { key, body })).status).toBe(201);
    const wrong = { agent_slug: "warned-bot", code_hash: "git:evil", tools_used: ["shell.exec\u001b[2J"] };
    const made = await attest(wrong);
    const url = `${base}/v1/verify/${made.attestation_id}`;
    const { code, out } = await verify(url);
    expect([code, out]).toEqual([0, expect.stringContaining("Authentic record, 2 warnings. ")]);
    expect(out).toContain("[code_hash_mismatch]");
    expect(out).toMatch(/WARN {2}code_hash .*\n {2}WARN {2}tools /);
    expect(out).not.toMatch(/pass {2}(code_hash|tools) /);
    expect(out).toMatch(
      /not in the registered manifest: shell\.exec⟨U\+001B⟩\[2J\. \[tools_not_registered\]/,
    );
    expect(await verify(url, "--fail-on-warnings")).toMatchObject({ code: 4 });
    expect(await verifyHere(plain.public_url, "--fail-on-warnings")).toMatchObject({ code: 0 });
    const json = JSON.parse((await verifyHere(url, "--json")).out);
    expect(json.warnings.map((one: { code: string }) => one.code)).toEqual([
      "code_hash_mismatch",
      "tools_not_registered",
    ]);
    const answer = (await test.call("GET", `/v1/verify/${made.attestation_id}`)).body;
    await writeJson("silent.json", { ...answer, warnings: [] });
    const silent = await verifyHere("silent.json", "--keys", "keys.json", "--fail-on-warnings");
    expect(silent).toMatchObject({ code: 1 });
    expect(silent.out).toContain("warnings (code_hash_mismatch) differs from the payload");
    const secret = await attest({ ...wrong, is_public: false });
    const address = `${base}/v1/verify/${secret.attestation_id}`;
    const stranger = await verifyHere(address);
    expect(stranger).toMatchObject({ code: 3 });
    expect(stranger.out).toContain("Authentic as far as it can be checked, 2 warnings.");
    expect(stranger.out).toContain("(The service says so. Nothing in this file shows it.)");
    expect(await verifyHere(address, "--fail-on-warnings")).toMatchObject({ code: 4 });
  });

  it("catches a service that lies: changed bytes under valid: true, or another attestation than asked for", async () => {
    const other = await attest({ action: "Something harmless" });
    let lie = (body: string) => body;
    const liar = createServer(async (incoming, outgoing) => {
      const answer = await fetch(`${base}${incoming.url}`);
      outgoing.end(lie(await answer.text()));
    });
    await new Promise<void>((done) => liar.listen(0, "127.0.0.1", done));
    const target = `http://127.0.0.1:${(liar.address() as AddressInfo).port}/v1/verify/`;
    expectExit(await verifyHere(target + plain.attestation_id), 0);
    lie = (body) => body.replaceAll("Paid 12", "Paid 99");
    expectExit(await verifyHere(target + plain.attestation_id), 1);
    lie = (body) => (body.includes('"valid"') ? JSON.stringify({ ...other, valid: true }) : body);
    const swapped = await verifyHere(target + plain.attestation_id);
    expectExit(swapped, 1);
    expect(swapped.out).toContain("not the attestation that was asked for");
    liar.close();
  });

  it("shows terminal escapes instead of sending them", async () => {
    const made = await attest({ action: "Paid \u001b[2J\u202e 12" });
    const shown = await verifyHere(`${base}/v1/verify/${made.attestation_id}`);
    const { out } = shown;
    expectExit(shown, 0);
    expect(out).not.toContain("\u001b");
    expect(out).toContain("U+001B");
  });

  it("reads a large pack in threads, and says what one alone does", async () => {
    const attestations = Array.from({ length: 100 }, (_, i) => ({
      ...{ agent_slug: "busy-bot", action: `Step ${i}`, inputs_hash: "sha256:abc" },
    }));
    for (let i = 0; i < 6; i += 1)
      expect((await test.call("POST", "/v1/attest/batch", { key, body: { attestations } })).status).toBe(201);
    const { context } = test.app;
    const person = await signInPerson(context, "dev@example.com", organizationId);
    const period = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 1_000) };
    const made = await makeEvidencePack(context, person, {
      agentSlugs: ["busy-bot"],
      period: { from: period.from.toISOString(), to: period.to.toISOString() },
      withPrivate: true,
    });
    const whole = await collect(made.parts);
    const files = unpack(whole);
    const late = numberedFile("attestations", 550);
    const forgedText = utf8Decode(files.get(late) ?? new Uint8Array()).replace("Step 49", "Step 94");
    const broken = await forge(new Map([...files, [late, utf8Encode(forgedText)]]), false);
    for (const [name, bytes, code] of [
      ["whole.zip", whole, 0],
      ["broken.zip", broken, 1],
    ] as const) {
      await writeFile(inFolder(name), bytes);
      const [apart, alone] = [await verify("pack", name), await verifyHere("pack", name)];
      expect(apart).toEqual(alone);
      expectExit(apart, code);
    }
    expect((await verify("pack", "broken.zip")).out).toContain(`${late}: restated_fields`);
  });

  it("follows the log: remembers a checkpoint, demands that it is extended, reads every entry", async () => {
    const check = (...args: string[]) => verifyHere("log", "check", base, ...args);
    expectExit(await check("--remember", "seen.txt"), 0);
    const first = await readFile(inFolder("seen.txt"), "utf8");
    await attest({ action: "One more" });
    const again = await check("--remember", "seen.txt", "--all", "--json", "--keys", "keys.json");
    expectExit(again, 0);
    expect(JSON.parse(again.out).checks.map(({ status }: { status: string }) => status)).toEqual([
      "pass",
      "pass",
      "pass",
    ]);
    const second = await readFile(inFolder("seen.txt"), "utf8");
    expect(second).not.toBe(first);

    const size = Number(second.split("\n")[1]);
    const fork = await makeFork(test, size);
    await writeFile(inFolder("seen.txt"), fork);
    const forked = await check("--remember", "seen.txt");
    expectExit(forked, 1);
    expect(forked.out).toContain("forked or rewritten");
    expect(await readFile(inFolder("seen.txt"), "utf8")).toBe(fork);
    await writeFile(inFolder("seen.txt"), await makeFork(test, size + 5));
    expect((await check("--remember", "seen.txt")).out).toContain("taken back");
    await writeFile(inFolder("seen.txt"), second.replace("\n", "x\n"));
    expectExit(await check("--remember", "seen.txt"), 1);
  });
});

/** A checkpoint that the log's own key signed over another tree. */
async function makeFork({ app }: TestApp, size: number): Promise<string> {
  const { keys, database } = app.context;
  const { rows } = await database.query("SELECT origin FROM logs", []);
  const origin = String(rows[0]?.["origin"]);
  const root = new Uint8Array(32).fill(7);
  const logKey = makeVerifierKey(origin, 1, keys.logSigner.publicKey);
  return signCheckpoint({ origin, size, root }, logKey, (bytes) => keys.logSigner.sign(bytes));
}
