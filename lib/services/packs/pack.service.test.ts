/** Evidence packs: what an organization packs holds, and nothing in it can be changed without being found, and named. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type MemberPrincipal, toActor } from "#lib/api/http/context";
import { auditEvents } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { deflateFiles, verifySignatures } from "#lib/log/signing/log-worker";
import { concatBytes, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  encodeZipEnd,
  encodeZipHeader,
  type PlacedFile,
  readZip,
  toByteSource,
} from "#lib/protocol/encoding/zip";
import { encodePackJson, packFiles } from "#lib/protocol/pack/pack-manifest";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import { endMembership } from "#lib/services/accounts/change-role";
import { listOpenings } from "#lib/services/approvals/read";
import { openOwnAttestation, readOwnAttestation } from "#lib/services/attestations/own";
import { readProgramFile } from "#lib/services/attestations/receipt-files";
import { parseTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { nodeIo, startSignatureThread } from "#lib/verifier/cli/node-io";
import { runCommand } from "#lib/verifier/cli/run-command";
import { openPack } from "#lib/verifier/pack/archive";
import { checkPack } from "#lib/verifier/pack/check-pack";
import { findForeign, readEntries } from "#lib/verifier/pack/entries";
import {
  askThread,
  type OpenReaders,
  type ReadFile,
  readHere,
  readWithVerifier,
} from "#lib/verifier/pack/read-entry";
import { ask } from "#support/authorizations";
import { collect, forge, type Json, type PackedFiles, pack, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import {
  listOpeningLinks,
  makeOpeningLink,
  openByLink,
  readOpeningLink,
  revokeOpeningLink,
} from "./opening-links";
import { makeEvidencePack, type PackRequest } from "./pack";

const slug = "audited-bot";
const approvedSlug = "approved-bot";
const payee = "Example Ltd";
const dayMs = 86_400_000;
/** Test 2 of RFC 8032, section 7.1. */
const foreignKey = Buffer.from("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "hex");
const hostile = `<script>alert("1")</script> \u202Eevil & 'more'`;

describe("an evidence pack", () => {
  const { test } = setupTestApp();
  let person: MemberPrincipal;
  let request: PackRequest;
  let key: string;
  let whole: Uint8Array;
  let approved: Uint8Array;
  let program: Uint8Array;

  const make = async (more: Partial<PackRequest> = {}) =>
    collect((await makeEvidencePack(test.app.context, person, { ...request, ...more })).parts);
  const check = (bytes: Uint8Array) =>
    checkPack(toByteSource(bytes), { tools: nodeIo.zip, trust: null, program });
  const failures = async (bytes: Uint8Array) => {
    const { checks, verdict, facts } = await check(bytes);
    expect(verdict).toBe("invalid");
    expect(facts).toBeNull();
    return checks
      .filter(({ status }) => status === "fail")
      .map(({ name, reason, detail }) => `${name} ${reason}: ${detail}`);
  };
  /** The whole pack with these changes: a null takes a file out. */
  const changed = (changes: Record<string, ((json: Json) => Json) | Uint8Array | null>): PackedFiles => {
    const files = unpack(whole);
    for (const [name, change] of Object.entries(changes)) {
      if (change === null) files.delete(name);
      else if (change instanceof Uint8Array) files.set(name, change);
      else files.set(name, encodePackJson(change(parse(files, name))));
    }
    return files;
  };
  const forged = async (...given: Parameters<typeof changed>) =>
    failures(await forge(changed(...given), true));

  const attest = async (more: object = {}, atMs = Date.now()) => {
    const { context } = test.app;
    const clock = context.clock;
    Object.assign(context, { clock: () => new Date(atMs) });
    const body = { agent_slug: slug, action: "Paid", inputs_hash: "abc", ...more };
    const answer = await test.call("POST", "/v1/attest", { key, body });
    Object.assign(context, { clock });
    expect(answer.status).toBe(201);
    return answer.body;
  };

  beforeAll(async () => {
    const made = await test.createKey();
    key = made.key;
    person = await signInPerson(test.app.context, "dev@example.com", made.organizationId);
    const now = Date.now();
    request = {
      agentSlugs: [slug],
      period: { from: new Date(now - 7 * dayMs).toISOString(), to: new Date(now + dayMs).toISOString() },
      withPrivate: true,
    };
    await attest({}, now - 10 * dayMs);
    await attest({ action: hostile });
    await attest({ is_public: false, action: "Paid in private" });
    const gone = await attest();
    await (await ask(test, key, { agent_slug: slug, action: "Pay too much" })).deny("too much");
    await attest({ human_approved: true, human_approver_hash: "sha256:boss" });
    await test.call("DELETE", `/v1/attestations/${gone.attestation_id}/content`, { key });
    await attest({}, now + 2 * dayMs);
    // Another agent, because each look at a real approval costs two pairings.
    const asked = await ask(test, key, {
      ...{ agent_slug: approvedSlug, action: "Paid", requester: "Accounts payable" },
      ...{ context: { payee, iban: "DE02 1203 0000" }, details: { complete: true } },
    });
    await asked.approve("ada");
    const { human_authorization } = (await asked.read(key)).body;
    await attest({ agent_slug: approvedSlug, human_authorization });
    await makeSnapshot({ ...test.app.context, merge: async (...given) => mergeHeads(...given) });
    await attest({ is_public: false }, now + 3 * dayMs);
    program = (await readProgramFile("verify.mjs"))?.bytes ?? new Uint8Array();
    // Makes a snapshot, whose checkpoint is that of receipts when the second is over, by the database's clock.
    await make();
    await sleep(2_000);
    whole = await make();
    approved = await make({ agentSlugs: [approvedSlug] });
  });

  it("holds, counts what it has, and says what it lacks", async () => {
    const { checks, verdict, facts } = await check(whole);
    expect(checks.map(({ name, status, detail }) => [name, status === "pass" ? status : detail])).toEqual([
      ["archive", "pass"],
      ["files", "pass"],
      ["attestations", "1 entry without content: erased, or kept out of the pack"],
      ["decisions", "pass"],
      ["uses", "pass"],
      ["rules", "pass"],
      ["verdicts", "pass"],
      ["record entries", "pass"],
      ["record head", "pass"],
      ["record newest_signed", "pass"],
      ["record snapshot", "pass"],
      ["record sum", "pass"],
      ["grounds", "pass"],
      ["agent", "pass"],
      ["period", "pass"],
      ["log", "pass"],
      ["manifest", "pass"],
      ["report", "pass"],
      ["verifier", "pass"],
    ]);
    expect(verdict).toBe("incomplete");
    expect(facts).toMatchObject({
      record: { first: 2, last: 6, head: 8, counted: { entries: 8 } },
      counts: {
        entries: 5,
        attestations: { total: 4, public: 2, private: 1, withheld: 0, erased: 1 },
        approvals: { none: 2, asserted: 1, backed: [] },
        decisions: { total: 1, approved: 0, denied: 1, cancelled: 0, erased: 0 },
        warnings: [{ code: "approval_asserted_only", count: 1 }],
      },
    });
    expect(facts?.left_out[0]).toEqual({ what: "content of entries", why: "erased by the owner", count: 1 });
  });

  const first = "attestations/000000000002.json";

  it.each([
    "keys.json",
    "verify.mjs",
    "record/000000000001.json",
    first,
    "decisions/000000000005.json",
    "statements/000000000001.json",
    "agent-heads.bin",
    "before.json",
    "after.json",
    "log.json",
    "report.html",
    "requirements.csv",
  ])("whose %s was changed, swapped or taken out is not the one of its manifest", async (name) => {
    const files = unpack(whole);
    const bytes = files.get(name) ?? new Uint8Array();
    const other = new Uint8Array([...bytes.subarray(0, -1), (bytes.at(-1) ?? 0) ^ 1]);
    expect(await failures(await pack(files.set(name, other)))).toEqual([
      `files file_changed: ${name} is not the file that the manifest names`,
    ]);
    files.delete(name);
    expect(await failures(await pack(files))).toEqual([`files file_missing: ${name} is missing`]);
  });

  it("takes no file that no pack has, and no archive that is not its own", async () => {
    const files = unpack(whole);
    const more = await pack([...files, ["readme.txt", utf8Encode("trust me")]]);
    expect(await failures(more)).toEqual(["files file_unknown: readme.txt is no file of a pack"]);
    expect(await failures(utf8Encode("no archive"))).toEqual([
      "archive archive_unreadable: not a ZIP archive of ours",
    ]);
    const slip = Buffer.from(whole).toString("latin1").replaceAll("keys.json", "../s.json");
    expect(await failures(new Uint8Array(Buffer.from(slip, "latin1")))).toEqual([
      expect.stringContaining('the file name "../s.json"'),
    ]);
  });

  it("is no archive when it was cut, wherever its sending broke off", async () => {
    const names = [...unpack(whole).keys()];
    expect(names.at(-1), "without the rest, there is no manifest").toBe(packFiles.manifest);
    for (let cut = 1; cut < 64; cut += 1) {
      const length = cut < 32 ? whole.length - cut : Math.floor((whole.length * (cut - 31)) / 33);
      expect(await failures(whole.slice(0, length))).toEqual([
        expect.stringMatching(/^archive archive_unreadable: /),
      ]);
    }
  });

  it("is judged by names and lengths before anything swells", async () => {
    let inflated = 0;
    const inflate: typeof nodeIo.zip.inflate = (...given) => {
      inflated += 1;
      return nodeIo.zip.inflate(...given);
    };
    const failure = async (bytes: Uint8Array) => {
      inflated = 0;
      const request = { tools: { ...nodeIo.zip, inflate }, trust: null, program };
      const { checks } = await checkPack(toByteSource(bytes), request);
      return `${checks.find(({ status }) => status === "fail")?.detail}, ${inflated} inflated`;
    };
    const unknown = await pack([["readme.txt", new Uint8Array(1e6)], ...unpack(whole)]);
    expect(await failure(unknown)).toBe("readme.txt is no file of a pack, 0 inflated");
    const swollen = await pack(unpack(whole).set("log.json", new Uint8Array(1e6)));
    expect(await failure(swollen)).toBe("log.json is not the file that the manifest names, 1 inflated");
    const names = Array.from({ length: 80 }, (_, i) => `attestations/${String(i).padStart(12, "0")}.json`);
    const placed: PlacedFile[] = [];
    const parts = names.map((name) => {
      const file = { name, crc: 0, size: 60 * 1024 ** 2, deflatedSize: 0 };
      const offset = placed.reduce((sum, one) => sum + encodeZipHeader(one).length, 0);
      placed.push({ ...file, offset });
      return encodeZipHeader(file);
    });
    const bomb = concatBytes(...parts, encodeZipEnd(placed));
    expect(await failure(bomb)).toBe(
      "its files are too large together: more than 4294967296 bytes, 0 inflated",
    );
  });

  it("cannot count otherwise than its receipts do", async () => {
    const lie = (manifest: Json) => ({
      ...manifest,
      counts: { ...manifest.counts, decisions: { ...manifest.counts.decisions, denied: 0 } },
    });
    const lying = changed({ [packFiles.manifest]: lie });
    expect(await failures(await pack(lying))).toEqual([
      "manifest manifest_mismatch: manifest.json says another counts.decisions.denied than the files do",
    ]);
    const html = utf8Decode(unpack(whole).get(packFiles.report) ?? new Uint8Array());
    const kinder = utf8Encode(html.replace("1 denied", "0 denied"));
    expect(await failures(await forge(changed({ [packFiles.report]: kinder }), false))).toEqual([
      "report report_mismatch: report.html is not the one that follows from the files",
    ]);
  });

  it("lacks no entry of its period, and claims no longer one", async () => {
    expect(await forged({ [first]: null })).toContain(
      "period entry_absent: number 2 of the period is missing",
    );
    expect(await forged({ "decisions/000000000005.json": null })).toContain(
      "period entry_absent: number 5 of the period is missing",
    );
    expect(await forged({ "before.json": null })).toContain(
      "period entry_absent: number 1 of the period is missing",
    );
    expect(await forged({ "after.json": null })).toContain(
      "period entry_absent: number 7 of the period is missing",
    );
    const long = (manifest: Json) => ({
      ...manifest,
      period: { ...manifest.period, from: "2020-01-01T00:00:00.000Z" },
    });
    expect(await forged({ "manifest.json": long })).toEqual([
      expect.stringContaining("period period_cut: number 1"),
    ]);
    const other = unpack(whole).get("attestations/000000000003.json") ?? new Uint8Array();
    expect(await forged({ [first]: other })).toEqual([
      `attestations entry_foreign: ${first} is not in the record under this number`,
    ]);
  });

  it("has no entry that was changed, whatever manifest and report say", async () => {
    const inPayload = (from: string, to: string) => (json: Json) => ({
      ...json,
      payload: json.payload.replace(from, to),
    });
    expect(await forged({ [first]: inPayload("abc", "abd") })).toEqual([
      expect.stringContaining(`attestations entry_invalid: ${first}: payload_hash`),
    ]);
    const denial = "decisions/000000000005.json";
    expect(await forged({ [denial]: inPayload("denied", "approved") })).toEqual([
      `decisions entry_invalid: ${denial}: payload_hash is not that of the payload`,
    ]);
    const request = (json: Json) => ({ ...json, request: { ...json.request, action: "Pay a little" } });
    expect(await forged({ [denial]: request })).toEqual([
      `decisions entry_invalid: ${denial}: the request is not the one that was decided`,
    ]);
    const unsigned = (json: Json) => ({ ...json, signature: json.envelope_signature });
    expect(await forged({ [denial]: unsigned })).toEqual([
      `decisions entry_invalid: ${denial}: the decision is not signed by a trusted key, or not in the log`,
    ]);
    const unlogged = (json: Json) => ({ ...json, payload_hash: "0".repeat(64) });
    expect(await forged({ [denial]: unlogged })).toEqual([
      `decisions entry_invalid: ${denial}: payload_hash is not that of the payload`,
    ]);
  });

  it("counts approvals by level, and has no other approval than the one that was decided", async () => {
    const { verdict, facts } = await check(approved);
    expect(verdict).toBe("valid");
    expect(facts?.counts).toMatchObject({
      approvals: {
        none: 0,
        asserted: 0,
        backed: [{ method: "proof_of_personhood", level: "orb", environment: "local", count: 1 }],
      },
      decisions: { total: 1, approved: 1 },
      warnings: [{ code: "approval_test", count: 1 }],
    });
    const html = utf8Decode(unpack(approved).get(packFiles.report) ?? new Uint8Array());
    expect(html).toMatch(
      /<bdi[^>]*>approved: 1 test wallet, by World ID \(Orb\)<\/bdi> <strong class="test">TEST</,
    );
    const decision = "decisions/000000000001.json";
    const files = unpack(approved);
    const json = parse(files, decision);
    json.human_authorization.approved_at = "2026-01-01T00:00:00.000Z";
    files.set(decision, encodePackJson(json));
    expect(await failures(await forge(files, true))).toEqual([
      `decisions entry_invalid: ${decision}: the authorization is not that of this decision`,
    ]);
  });

  it("has no approval but one that the record lists under its number", async () => {
    const { pack: open } = await openPack(toByteSource(approved), nodeIo.zip);
    if (open === null) throw new Error("the pack can't be opened");
    const trust = parseTrust(await open.readJson(packFiles.keys));
    const { read: readFiles } = readHere(nodeIo.zip)(open.source, trust, 0);
    const style = { slug: approvedSlug, isOfSeveral: false, version: open.version, withRows: false };
    const { read, fault } = await readEntries(
      open,
      async function* (names) {
        for await (const { files } of readFiles(names.map(open.place), style))
          for (const { found } of files) if (!("problem" in found)) yield found;
      },
      () => null,
      () => {},
    );
    expect([fault, [...read.hashes.keys()], read.decided]).toEqual([null, [1, 2], [[1, read.hashes.get(1)]]]);
    const judge = (decided: typeof read.decided) =>
      findForeign({ hashes: new Map(), decided }, new Map(read.hashes));
    expect(judge(read.decided)).toBeUndefined();
    expect(judge([[1, new Uint8Array(32)]]), "another payload is the record's").toBe(1);
    expect(judge([[3, read.hashes.get(1) ?? new Uint8Array()]]), "the record ends before").toBe(3);
  });

  it("has with each content all that its checks read", async () => {
    const attestation = "attestations/000000000002.json";
    const files = unpack(approved);
    const { human_authorization: _, ...json } = parse(files, attestation);
    files.set(attestation, encodePackJson(json));
    expect(await failures(await forge(files, true))).toEqual([
      `attestations entry_invalid: ${attestation}: human_authorization: not in the file`,
    ]);
  });

  it("has no page that nothing leads to, and no rows that nothing names", async () => {
    const note = utf8Encode('"Everything here was approved by the board."');
    const page = "000000000900.json";
    for (const folder of ["record", "statements"]) {
      expect(await forged({ [`${folder}/${page}`]: note })).toEqual([
        `record files file_unknown: ${folder}/${page} is no file of a pack`,
      ]);
      const named = (json: Json) => ({ ...json, next: 900 });
      const first = `${folder}/000000000001.json`;
      expect(await forged({ [`${folder}/${page}`]: note, [first]: named })).toContain(
        `record files file_unknown: ${folder}/${page} is no file of a pack`,
      );
    }
    expect(await forged({ "statements/000000000001.json": (json) => ({ ...json, next: 900 }) })).toEqual([
      expect.stringContaining("grounds page_unending"),
    ]);
    const uncounted = await forged({
      "record/000000000001.json": ({ snapshot: _, ...page }) => page,
      "statements/000000000001.json": () => ({ statements: [], next: null }),
    });
    expect(uncounted).toContain("record files file_unknown: agent-heads.bin is no file of a pack");
  });

  it("is of one record and one log", async () => {
    const shorter = (page: Json) => ({ ...page, entries: page.entries.slice(0, -1) });
    expect(await forged({ "record/000000000001.json": shorter })).toContainEqual(
      expect.stringContaining("record head record_head_mismatch"),
    );
    const swapped = (page: Json) => ({
      ...page,
      entries: page.entries.map((entry: Json) =>
        entry.sequence === 4 ? { ...entry, payload_hash: "0".repeat(64) } : entry,
      ),
    });
    expect(await forged({ "record/000000000001.json": swapped })).toContainEqual(
      expect.stringContaining("record files entry_foreign: number 4"),
    );
    const unproven = (log: Json) => ({ ...log, consistency: log.consistency.slice(1) });
    expect(await forged({ "log.json": unproven })).toEqual([
      expect.stringContaining("log consistency_unproven"),
    ]);
    const rows = new Uint8Array(unpack(whole).get(packFiles.rows) ?? []);
    rows[40] = (rows[40] ?? 0) ^ 1;
    expect(await forged({ "agent-heads.bin": rows })).toEqual([
      expect.stringContaining("record sum sum_rows_mismatch"),
    ]);
  });

  it("waits while too many proofs are checked: what has begun could only be cut off", async () => {
    const { pool } = test.app.context;
    const headers = { "retry-after": "2" };
    const refusal = new AppError("service_unavailable", "too many proofs", { headers });
    const refusals = [refusal];
    const runRemembered: typeof pool.runRemembered = (...given) => {
      const refused = refusals.pop();
      return refused ? Promise.reject(refused) : pool.runRemembered(...given);
    };
    const context = { ...test.app.context, pool: { ...pool, runRemembered } };
    const made = await makeEvidencePack(context, person, { ...request, agentSlugs: [approvedSlug] });
    expect((await check(await collect(made.parts))).verdict).toBe("valid");
    expect(refusals).toEqual([]);
  });

  it("is of several agents, each with a record of its own, and counts none twice", async () => {
    const all = await make({ agentSlugs: [] });
    const found = await check(all);
    expect(found.agents.map(({ facts }) => facts.agent.slug)).toEqual([approvedSlug, slug]);
    expect([found.verdict, found.checks.filter(({ status }) => status !== "pass")]).toEqual([
      "incomplete",
      [
        expect.objectContaining({
          name: "attestations",
          detail: `${slug}: 1 entry without content: erased, or kept out of the pack`,
        }),
      ],
    ]);
    const files = unpack(all);
    const csv = utf8Decode(files.get(packFiles.csv) ?? new Uint8Array()).split("\r\n");
    expect(csv.length).toBe(
      unpack(whole).size === 0 ? 0 : found.agents.reduce((sum, { facts }) => sum + facts.counts.entries, 2),
    );
    expect(csv[1]).toMatch(/^"approved-bot","1",.*"agents\/000000000001\/decisions\/000000000001.json"$/);
    const [first, second] = ["agents/000000000001/", "agents/000000000002/"] as const;
    const move = (from: string, to: string | null) => {
      const own = [...files].filter(([name]) => name.startsWith(from));
      const rest = [...files].filter(([name]) => to !== null || !name.startsWith(from));
      return new Map([
        ...rest,
        ...own.flatMap(([name, bytes]) => (to === null ? [] : [[name.replace(from, to), bytes] as const])),
      ]);
    };
    const attacks: [string, PackedFiles, string][] = [
      [
        "an agent a second time",
        move(first, "agents/000000000003/"),
        "agent agent_repeated: the agent approved-bot",
      ],
      ["a lone agent in a folder", move(second, null), `files file_unknown: ${first}`],
      [
        "files of no agent",
        new Map([...files, ["decisions/000000000001.json", utf8Encode("{}")]]),
        "files file_unknown: decisions/",
      ],
      [
        "another agent's entry",
        move(`${first}decisions/000000000001`, `${second}decisions/000000000099`),
        `decisions entry_foreign: ${second}: `,
      ],
      [
        "an agent without an entry",
        new Map([...files].filter(([name]) => name !== `${first}decisions/000000000001.json`)),
        "period entry_absent: approved-bot: number 1",
      ],
    ];
    for (const [what, changed, problem] of attacks)
      expect((await failures(await forge(changed, true))).join("\n"), what).toContain(problem);
    const shifted = utf8Encode(csv.join("\r\n").replace('"1",', '"7",'));
    expect(await failures(await forge(new Map(files).set(packFiles.csv, shifted), false))).toContain(
      "report report_mismatch: report.csv is not the one that follows from the files",
    );
  });

  it("offers to open the payee alone only where it can be: it is named, and each detail is hashed by itself", async () => {
    const list = async (more: object) => {
      const { made } = await ask(test, key, { agent_slug: approvedSlug, ...more });
      const answer = { human_authorization: { request: { request_id: made.request_id } } };
      return listOpenings(test.app.context, person.organizationId, answer);
    };
    const details = { complete: true };
    expect(await list({ context: { payee }, details })).toEqual(["payee", "all"]);
    expect(await list({ context: { payee } })).toEqual(["all"]);
    expect(await list({ context: { note: "Rent" }, details })).toEqual(["all"]);
  });

  it("opens the payee alone, or all that was shown, and nothing that was not signed", async () => {
    const openedBy = async (opening: PackRequest["opening"]) =>
      unpack(await make({ agentSlugs: [approvedSlug], ...(opening && { opening }) }));
    const names = ["decisions/000000000001.json", "attestations/000000000002.json"];
    const [closed, single, all] = [await openedBy(undefined), await openedBy("payee"), await openedBy("all")];
    expect(names.map((name) => parse(closed, name).opening)).toEqual([undefined, undefined]);
    const texts = (files: PackedFiles) =>
      [...files.values()].map((bytes) => Buffer.from(bytes).toString()).join();
    const shows = (files: PackedFiles) =>
      [payee, "DE02 1203 0000", "Accounts payable"].map((text) => texts(files).includes(text));
    expect([closed, single, all].map(shows)).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, true],
    ]);
    for (const files of [single, all]) {
      expect((await check(await forge(files, true))).verdict).toBe("valid");
      for (const name of [packFiles.report, packFiles.csv])
        expect(utf8Decode(files.get(name) ?? new Uint8Array())).toContain(payee);
    }
    const { opening } = parse(single, names[0] ?? "");
    const [entry] = opening.entries;
    const attacks: [string, Json, string][] = [
      [
        "another payee",
        { ...opening, entries: [{ ...entry, value: "Mallory Ltd" }] },
        "an entry of the opening",
      ],
      ["another approval's", { ...opening, request_hash: "0".repeat(64) }, "belongs to another approval"],
    ];
    for (const [what, other, problem] of attacks)
      for (const name of names) {
        const files = new Map(single).set(name, encodePackJson({ ...parse(single, name), opening: other }));
        expect((await failures(await forge(files, true))).join(), `${what}: ${name}`).toContain(problem);
      }
    const { attestation_id: id } = parse(single, names[1] ?? "");
    const receipt = await openOwnAttestation(test.app.context, person, id, "payee");
    const { openings } = await readOwnAttestation(test.app.context, person, id);
    expect(openings).toEqual(["payee", "all"]);
    const keys = parse(single, packFiles.keys);
    const judged = await verifyEvidence(receipt, parseTrust(keys));
    expect(judged.checks.find(({ name }) => name === "opening")?.status).toBe("pass");
    expect(judged.facts.find((fact) => fact.id === "payee")?.text).toBe(payee);
    const [audited] = await test.app.context.database.db
      .select()
      .from(auditEvents)
      .where(eq(auditEvents.action, "attestation.opened"));
    expect(audited).toMatchObject({ subject: id, detail: { opened: "payee" } });
    await expect(
      openOwnAttestation(test.app.context, { ...person, organizationId: randomUUID() }, id, "all"),
    ).rejects.toThrow();
    const { human_authorization: _, ...alone } = parse(single, names[0] ?? "");
    const without = new Map(single).set(
      names[0] ?? "",
      encodePackJson({ ...alone, human_authorization: null }),
    );
    expect((await failures(await forge(without, true))).join()).toContain("an opening without its approval");
  });

  it("opens a receipt and a pack by links, until they end, are revoked, or their maker may not", async () => {
    const { context } = test.app;
    const attested = parse(unpack(approved), "attestations/000000000002.json");
    const attestationId = String(attested.attestation_id);
    const tokenOf = (link: string) => new URL(link).pathname.slice("/opened/".length);
    const makeReceipt = async () =>
      tokenOf(await makeOpeningLink(context, person, { attestationId, opening: "payee" }, "7"));
    const token = await makeReceipt();
    const packed = { ...request, agentSlugs: [approvedSlug], opening: "payee" as const };
    const packToken = tokenOf(await makeOpeningLink(context, person, { pack: packed }, "1"));
    const gone = "nothing exists with this id";
    const isGone = async (one: string) => {
      await expect(readOpeningLink(context, one, "192.0.2.9")).rejects.toThrow(gone);
      await expect(openByLink(context, one, "192.0.2.9")).rejects.toThrow(gone);
    };

    expect(await readOpeningLink(context, token, "192.0.2.9")).toMatchObject({
      kind: "receipt",
      subject: attestationId,
      opening: "payee",
    });
    const file = await openByLink(context, token, "192.0.2.9");
    expect(file.name).toBe(`receipt-${attestationId}-opened.json`);
    const receipt = JSON.parse(utf8Decode(await collect(file.parts)));
    const judged = await verifyEvidence(receipt, parseTrust(parse(unpack(approved), packFiles.keys)));
    expect(judged.checks.find(({ name }) => name === "opening")?.status).toBe("pass");
    expect(judged.facts.find((fact) => fact.id === "payee")?.text).toBe(payee);
    const { subject } = await readOpeningLink(context, packToken, "192.0.2.9");
    const lastDay = new Date(Date.parse(request.period.to) - 1).toISOString().slice(0, 10);
    expect(subject).toMatch(new RegExp(`, \\S+ to ${lastDay}$`));
    const zip = await collect((await openByLink(context, packToken, "192.0.2.9")).parts);
    expect((await check(zip)).verdict).not.toBe("invalid");
    expect(Buffer.from(unpack(zip).get("attestations/000000000002.json") ?? "").toString()).toContain(payee);

    const events = await test.query(
      "SELECT action, actor, ip, detail FROM audit_events WHERE action LIKE 'opening_link.%' ORDER BY id",
      [],
    );
    expect(events.rows.map(({ action }) => action)).toEqual([
      ...["opening_link.made", "opening_link.made", "opening_link.opened", "opening_link.opened"],
    ]);
    expect(events.rows[2]).toMatchObject({
      ip: "192.0.2.9",
      detail: { opens: attestationId, opened: "payee" },
    });
    const stored = await test.query("SELECT * FROM opening_links", []);
    expect(JSON.stringify(stored.rows)).not.toContain(token);
    expect(await listOpeningLinks(context, person, attestationId)).toMatchObject([{ opened: 1 }]);

    await isGone(`${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`);
    const stranger = await signInPerson(context, "stranger@example.com");
    const [{ id: linkId } = { id: "" }] = await listOpeningLinks(context, person, attestationId);
    await expect(revokeOpeningLink(context, stranger, linkId)).rejects.toThrow(gone);
    const begun = await openByLink(context, token, "192.0.2.9");
    await revokeOpeningLink(context, person, linkId);
    await expect(begun.requireOpen()).rejects.toThrow(gone);
    await isGone(token);
    await test.query("UPDATE opening_links SET expires_at = now() WHERE pack IS NOT NULL", []);
    await isGone(packToken);
    const halfway = await makeReceipt();
    const { db } = context.database;
    const run = db.transaction.bind(db);
    const spy = vi.spyOn(db, "transaction").mockImplementationOnce(async (...given) => {
      await test.query("UPDATE opening_links SET revoked_at = now() WHERE revoked_at IS NULL", []);
      return run(...given);
    });
    await expect(openByLink(context, halfway, "192.0.2.9"), "revoked before it is noted").rejects.toThrow(
      gone,
    );
    expect(spy).toHaveBeenCalledOnce();
    spy.mockRestore();
    const third = await makeReceipt();
    const setRole = (role: string) =>
      test.query("UPDATE memberships SET role = $1 WHERE user_id = $2", [role, person.userId]);
    await setRole("approver");
    await isGone(third);
    await setRole("owner");
    for (let opened = 0; opened < 30; opened += 1) await openByLink(context, third, "192.0.2.9");
    await expect(openByLink(context, third, "192.0.2.10")).rejects.toThrow("at most 30 requests");
    await expect(
      makeOpeningLink(context, stranger, { attestationId, opening: "all" }, "7"),
    ).rejects.toThrow();
    // Leaving and coming back revives no earlier link.
    const { organizationId, userId } = person;
    const last = await makeReceipt();
    const join = (user: string) =>
      test.query("INSERT INTO memberships (organization_id, user_id, role) VALUES ($1, $2, 'owner')", [
        organizationId,
        user,
      ]);
    await join(stranger.userId);
    const left = { organizationId, userId, actor: toActor(stranger) };
    await db.transaction((tx) => endMembership(context, tx, { revokeKeys: false }, left));
    await join(userId);
    await isGone(last);
  });

  it("says if its verifier is another program", async () => {
    const evil = utf8Encode("console.log('The pack holds.')");
    const { checks, verdict } = await check(await forge(changed({ "verify.mjs": evil }), true));
    expect(verdict).toBe("incomplete");
    expect(checks.at(-1)).toMatchObject({ name: "verifier", reason: "verifier_other" });
  });

  it("keeps out private content if its maker wants it so, and says that", async () => {
    const bytes = await make({ withPrivate: false });
    const texts = [...unpack(bytes)].map(([, content]) => Buffer.from(content).toString("latin1")).join("\n");
    for (const secret of ["Paid in private", "Pay too much"]) expect(texts).not.toContain(secret);
    const { verdict, facts } = await check(bytes);
    expect(verdict).toBe("incomplete");
    expect(facts?.counts.attestations).toMatchObject({ total: 4, public: 2, withheld: 1, erased: 1 });
    expect(facts?.left_out[1]).toMatchObject({ why: "kept out by whoever made the pack" });
  });

  it("of version 1, as 1.0.0 made them, is still valid, with the report of that version alone", async () => {
    expect((await check(await forge(unpack(approved), true, 1))).verdict).toBe("valid");
    const mixed = unpack(approved);
    mixed.set(
      packFiles.report,
      unpack(await forge(mixed, true, 1)).get(packFiles.report) ?? new Uint8Array(),
    );
    expect(await failures(await forge(mixed, false))).toEqual([
      "report report_mismatch: report.html is not the one that follows from the files",
    ]);
  });

  it("is the same bytes whether the thread that verifies and deflates answers or refuses", async () => {
    const { context } = test.app;
    const makeWith = async (run: (name: string, input: never) => Promise<unknown>) => {
      const logPool = { ...context.logPool, run } as typeof context.logPool;
      return collect((await makeEvidencePack({ ...context, logPool }, person, request)).parts);
    };
    const refused = await makeWith(() =>
      Promise.reject(new AppError("service_unavailable", "too many proofs")),
    );
    const answered = await makeWith(async (name, input) =>
      name === "deflateFiles" ? deflateFiles(input) : verifySignatures(input),
    );
    expect(Buffer.from(refused).equals(answered)).toBe(true);
    expect(unpack(refused)).toEqual(unpack(whole));
  });

  it("is the same bytes for the same state, and shows hostile text as text", async () => {
    expect(Buffer.from(await make()).equals(whole)).toBe(true);
    const html = utf8Decode(unpack(whole).get(packFiles.report) ?? new Uint8Array());
    expect(html).toContain(
      "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; ⟨U+202E⟩evil &amp; &#39;more&#39;",
    );
    expect(html).not.toContain("<script");
    expect(html).not.toContain("\u202e");
    expect(html).not.toMatch(/(?:src|href|url)\s*[=(]/);
  });

  it("is made for members, of their own agents, and not without end", async () => {
    const stranger = await signInPerson(test.app.context, "stranger@example.com");
    const ofStranger = makeEvidencePack(test.app.context, stranger, request);
    await expect(ofStranger).rejects.toMatchObject({ errorName: "agent_not_found" });
    const none = makeEvidencePack(test.app.context, person, { ...request, agentSlugs: ["nobody"] });
    await expect(none).rejects.toMatchObject({ errorName: "agent_not_found" });
    const { rows } = await test.query(
      "SELECT subject, detail FROM audit_events WHERE action = 'evidence_pack.made'",
      [],
    );
    expect(rows[0]).toMatchObject({ subject: slug, detail: { ...request.period, with_private: true } });
  });

  it("is said to be cut off in the audit log if it can't be written to its end", async () => {
    const context = { ...test.app.context };
    const text = "SELECT subject, detail FROM audit_events WHERE action = 'evidence_pack.cut_off'";
    const cut = async () => (await test.query(text, [])).rows;
    const { parts } = await makeEvidencePack(context, person, request);
    Object.assign(context, { settings: null });
    expect(await cut()).toEqual([]);
    await expect(collect(parts)).rejects.toThrow(TypeError);
    expect(await cut()).toMatchObject([{ subject: slug, detail: { ...request.period, with_private: true } }]);
  });

  it("holds as a whole if nothing is missing, also for a period in which nothing happened", async () => {
    await attest({ agent_slug: "quiet-bot" });
    const quiet = { agentSlugs: ["quiet-bot"] };
    expect((await check(await make(quiet))).verdict).toBe("valid");
    const period = { from: "2020-01-01T00:00:00.000Z", to: "2020-02-01T00:00:00.000Z" };
    const empty = await check(await make({ ...quiet, period }));
    expect(empty).toMatchObject({
      verdict: "valid",
      facts: { counts: { entries: 0 }, record: { first: 1, last: 0 } },
    });
  });

  it("is checked from the command line, with the exit codes of every check", async () => {
    const printed: string[] = [];
    const run = (bytes: Uint8Array, ...more: string[]) =>
      runCommand(["pack", "pack.zip", ...more], {
        ...nodeIo,
        readFile: async () => unpack(whole).get("keys.json") ?? bytes,
        openFile: async () => ({ ...toByteSource(bytes), close: () => {} }),
        isFile: async () => true,
        readProgram: async () => program,
        print: (text) => printed.push(text),
      });
    expect(await run(whole)).toBe(3);
    expect(printed.join("")).toContain("Keys: NOT pinned. They came with the pack");
    expect(printed.join("")).toContain("Nothing failed, but the pack does not carry everything");
    expect(printed.join("")).toContain("It does not prove:");
    expect(await run(whole, "--fail-on-warnings", "--keys", "keys.json")).toBe(4);
    expect(await run(whole.subarray(1), "--json")).toBe(1);
    expect(JSON.parse(printed.at(-1) ?? "")).toMatchObject({ kind: "pack", verdict: "invalid", facts: null });
  });

  it("finds each wrong signature that a thread verifies, wherever it stands", async () => {
    const files = unpack(whole);
    const trust = parseTrust(parse(files, packFiles.keys));
    const right = parse(files, "attestations/000000000002.json");
    const count = 200;
    const nameOf = (i: number) => `attestations/${String(i + 1).padStart(12, "0")}.json`;
    const readAll = async (open: OpenReaders, at: number, entry: Json, keys = trust) => {
      const all = Array.from({ length: count }, (_, i): [string, Uint8Array] => [
        nameOf(i),
        encodePackJson(i === at ? entry : right),
      ]);
      const source = toByteSource(await pack(all));
      const { files: placed } = await readZip(source, nodeIo.zip, { maxFileBytes: 1e6, maxBytes: 1e8 });
      const readers = open(source, keys, count);
      const found: ReadFile[] = [];
      const style = { slug, isOfSeveral: false, version: 2, withRows: false } as const;
      for await (const part of readers.read(placed, style)) found.push(...part.files);
      readers.close();
      return found;
    };
    const inThread = readWithVerifier(() => startSignatureThread(askThread), nodeIo.zip);
    const here = readHere(nodeIo.zip);
    const listChecked = (found: readonly ReadFile[]) =>
      found.map(({ found: one }) => ("checked" in one ? one.checked : one.problem));
    const listWrong = (found: readonly ReadFile[]) =>
      found.flatMap(({ found: one }, i) => ("checked" in one && one.checked.ok ? [] : [i]));
    expect(listWrong(await readAll(inThread, 0, right))).toEqual([]);

    const { signature, envelope_signature: enveloped } = right;
    const flipped = (text: string) => `${text.startsWith("A") ? "B" : "A"}${text.slice(1)}`;
    const wrong = [
      { ...right, signature: flipped(signature) },
      { ...right, signature: enveloped },
      { ...right, envelope_signature: signature },
      { ...right, signature: Buffer.alloc(64).toString("base64") },
    ];
    for (const [i, at] of [0, 63, 64, 130, count - 1].entries()) {
      const entry = wrong[i % wrong.length];
      const found = await readAll(inThread, at, entry);
      expect(listWrong(found)).toEqual([at]);
      expect(listChecked(found)).toEqual(listChecked(await readAll(here, at, entry)));
    }
    // The same signatures, which held before, under another key.
    const foreign = trust.keys.map((one) => ({ ...one, publicKey: new Uint8Array(foreignKey) }));
    expect(listWrong(await readAll(inThread, 0, right, { ...trust, keys: foreign }))).toHaveLength(count);
  });
});
