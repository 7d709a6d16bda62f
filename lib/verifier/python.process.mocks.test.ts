/**
 * Both verifiers agree: this suite judges the golden receipts, 500 seeded changes of receipts, signatures, keys and JSON
 * texts, and clients/python judges the same. Only zero-knowledge proofs are not its business.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { formatAmount } from "#lib/protocol/approval/amount";
import { buildAuthorization, chooseVersion, type HumanAuthorization } from "#lib/protocol/approval/approval";
import type { ApprovalStop } from "#lib/protocol/approval/approval-end";
import type { SignedDetails } from "#lib/protocol/approval/shown-content";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { verifyEd25519Strict, vetPublicKey } from "#lib/protocol/keys/ed25519";
import { type RosterHead, rosterHash } from "#lib/protocol/passkey/roster";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import type { ActionPredicate, TraceMark } from "#lib/protocol/statement/statement";
import { encodeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { checkRecord } from "#lib/verifier/checks/check-record";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { parseTrust } from "#lib/verifier/checks/trust";
import type { TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { makeBoundedReceipt } from "#support/bounded-receipt";
import { runProgram } from "#support/commands";
import { anyKind } from "#support/databases";
import { type DecidedLie, makeDecidedReceipt } from "#support/decided-receipt";
import {
  amendedShown,
  enrolledRequest,
  listBadAmendments,
  listForgeries,
  makeAmendedAuthorization,
  makeBothAuthorization,
  makeDeputyAuthorization,
  makeDeputyRoster,
  makeEnrolledAuthorization,
  makeListedAuthorization,
  makePasskeyApproval,
  testRoster,
} from "#support/enrolled-approvals";
import {
  signForTest,
  testFacts,
  testKeyId,
  testPublicKey,
  testRequest,
  testShown,
} from "#support/human-authorization";
import { listen } from "#support/listen";
import { listOpenings } from "#support/openings";
import { agreeWithPython, findPython, pythonEnv } from "#support/python";
import { makeReceiptSamples } from "#support/receipt-samples";
import { setupTestApp } from "#support/setup-app";
import { makeSignatureVectors } from "#support/signature-vectors";
import { verifyInBrowser } from "./browser";

// Most changes leave the inputs of signatures and pairings as they are.
vi.mock("#lib/protocol/keys/ed25519", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/keys/ed25519")>, "verifyEd25519Strict");
});
vi.mock("#lib/protocol/passkey/assertion", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/passkey/assertion")>, "checkAssertion");
});
vi.mock("#lib/protocol/world-id/groth16", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/world-id/groth16")>, "verifyGroth16");
});
vi.mock("#lib/verifier/checks/check-presentation", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/verifier/checks/check-presentation")>, "checkPublicProof");
});

const python = await findPython("core");
if (python.missing) console.warn(`Skipped: the agreement of both verifiers. ${python.missing}`);

const seed = 34;
const mutants = 500;
/** More of a counter-offer, which has two requests. */
const amendedMutants = 300;
const now = 4_102_444_800;

// biome-ignore lint/suspicious/noExplicitAny: answers as they come, changed in every way
type Json = any;
type Case = { kind: string; name: string } & Record<string, unknown>;

/** The same numbers for the same seed; at least 0 and below `end`. */
function createRandom(start: number) {
  let count = 0;
  return (end: number): number => {
    count += 1;
    const digest = createHash("sha256").update(`${start}/${count}`).digest();
    return digest.readUInt32BE() % end;
  };
}
type Random = ReturnType<typeof createRandom>;

async function judge(name: string, receipt: unknown, keys: unknown): Promise<Case> {
  // As people have it: a file.
  const text = typeof receipt === "string" ? receipt : JSON.stringify(receipt);
  const verified = async () => verifyInBrowser(text, keys, { nowSeconds: now });
  const found = await verified().catch((error: unknown) => {
    if (error instanceof UnreadableError)
      return {
        verdict: "refused" as const,
        checks: [],
        unproven: [],
        warnings: [],
        statedWarnings: [],
        facts: [],
      };
    throw error;
  });
  const { verdict, checks, unproven, warnings, statedWarnings: stated_warnings, facts } = found;
  const says = { verdict, checks, unproven, warnings, stated_warnings, facts };
  return { kind: "receipt", name, receipt: text, keys: JSON.stringify(keys), ...says, now };
}

type Path = (string | number)[];

function listPaths(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [at];
  const members = Object.entries(value).map(([name, member]) =>
    listPaths(member, [...at, Array.isArray(value) ? Number(name) : name]),
  );
  return [...(at.length > 0 ? [at] : []), ...members.flat()];
}

function change(
  value: unknown,
  [name, ...rest]: Path,
  by: (parent: never, name: string | number) => void,
): unknown {
  const copy = structuredClone(value);
  let parent = copy as Record<string | number, unknown>;
  let last = name as string | number;
  for (const step of rest) {
    parent = parent[last] as Record<string | number, unknown>;
    last = step;
  }
  by(parent as never, last);
  return copy;
}

function otherThan(old: unknown, random: Random): unknown {
  const others = [null, true, false, 0, 1, -1, 0.5, 2 ** 53, "", "x", [], {}, "\u0000", "é"];
  if (typeof old === "number" && random(2) === 0) return old + 1 - 2 * random(2);
  if (typeof old !== "string" || random(3) === 0) return others[random(others.length)];
  const at = random(Math.max(1, old.length));
  const letters = ["A", "B", "9", "0", "=", "f", " ", "\n", "Z", "—"];
  const letter = letters[random(letters.length)] ?? "";
  return [
    `${old.slice(0, at)}${letter}${old.slice(at + 1)}`,
    `${old}${letter}`,
    old.slice(0, at),
    letter + old,
  ][random(4)];
}

/** A changed receipt, as an object or as text. */
function mutate(sample: unknown, others: unknown[], random: Random): unknown {
  if (typeof sample === "string") return otherThan(sample, random);
  const paths = listPaths(sample);
  const at = paths[random(paths.length)] ?? [];
  const text = JSON.stringify(sample);
  switch (random(10)) {
    case 0:
      return change(sample, at, (parent: Record<string, unknown>, name) => delete parent[name]);
    case 1:
      return change(sample, at, (parent: Record<string, unknown>) => {
        parent["added"] = 1;
      });
    case 2: {
      const other = others[random(others.length)];
      const [name = ""] = at;
      return change(sample, [name], (parent: Record<string | number, unknown>) => {
        parent[name] = (other as Record<string | number, unknown>)[name] ?? null;
      });
    }
    case 3:
      // A name twice.
      return text.replace(/"(\w+)":/g, (whole, name) =>
        random(40) === 0 ? `"${name}":null,${whole}` : whole,
      );
    case 4:
      return text.replace(
        /:(\d+)([,}])/,
        (_, digits, end) =>
          `:${[`${digits}.0`, `${digits}e0`, `-${digits}`, `${digits}0e-1`, `0${digits}`][random(5)]}${end}`,
      );
    case 5: {
      const cut = random(text.length);
      return `${text.slice(0, cut)}${String.fromCharCode(32 + random(95))}${text.slice(cut + 1)}`;
    }
    default:
      return change(sample, at, (parent: Record<string | number, unknown>, name) => {
        parent[name] = otherThan(parent[name], random);
      });
  }
}

const readJson = (...names: string[]): unknown => {
  const text = readFileSync(path.join("public/vectors", ...names), "utf8");
  return names.at(-1)?.endsWith(".json") ? JSON.parse(text) : text;
};

async function judgeGolden(): Promise<Case[]> {
  const cases: Case[] = [];
  for (const release of readdirSync("public/vectors").filter((name) => /^\d/.test(name))) {
    const keys = readJson(release, "keys.json");
    for (const { file } of readJson(release, "index.json") as { file: string }[])
      if (file !== "presentation.json") cases.push(await judge(file, readJson(release, file), keys));
    const plain = readJson(release, "plain.json") as Json;
    const repeated = { ...plain.independent_verification, public_key_pem: false };
    cases.push(await judge("no PEM", { ...plain, independent_verification: repeated }, keys));
    const { keys: listed, ...others } = keys as Json;
    const revoked = listed.map((key: Json) => ({ ...key, status: "revoked", valid_to_index: 1 }));
    const { log_origin: _any, ...anywhere } = revoked[0];
    const elsewhere = revoked.map((key: Json) => ({ ...key, log_origin: "old.example/log" }));
    for (const more of [revoked, [anywhere], elsewhere])
      cases.push(await judge(`${more.length} more keys`, plain, { ...others, keys: [...listed, ...more] }));
  }
  return cases;
}

async function judgeMutants(test: TestApp): Promise<Case[]> {
  const { key } = await test.createKey();
  const { presentation: _pairing, ...samples } = await makeReceiptSamples(test, key);
  const keys = (await test.call("GET", "/v1/pubkey")).body;
  const entries = Object.entries(samples);
  const objects = Object.values(samples).filter((sample) => typeof sample === "object");
  const random = createRandom(seed);
  const cases = await Promise.all(entries.map(([name, sample]) => judge(name, sample, keys)));
  while (cases.length < entries.length + mutants + amendedMutants) {
    const isAmended = cases.length >= entries.length + mutants;
    const [name, sample] = isAmended
      ? ["amended-approved", samples["amended-approved"]]
      : (entries[random(entries.length)] ?? ["", null]);
    cases.push(await judge(`${cases.length}: ${name}`, mutate(sample, objects, random), keys));
  }
  return cases;
}

/** Objects of enrolled approvers and each of their fields changed, as a service would sign them that lies. */
async function judgeForgeries(test: TestApp): Promise<Case[]> {
  const known = (await test.call("GET", "/v1/pubkey")).body;
  const [key] = known.keys;
  const own = { ...key, key_id: testKeyId, public_key: base64Encode(testPublicKey) };
  const keys = { ...known, keys: [own] };
  const cases: Case[] = [];
  for (const whole of [
    makeEnrolledAuthorization(),
    makeBothAuthorization(),
    makeVersion2(),
    makeAmendedAuthorization(),
    makeListedAuthorization(),
    makeDeputyAuthorization(),
    makeDeputyAuthorization([3, 0, 2]),
    makeDeputyAuthorization([3, 1, 2], enrolledRequest, makeDeputyRoster(3, 4)),
  ]) {
    cases.push(await judge("enrolled", whole, keys));
    const request = { ...whole.request, action: "😀".repeat(1_000) };
    cases.push(await judge("with a long action", { ...whole, request }, keys));
    for (const { place, forged } of listForgeries(whole)) cases.push(await judge(place, forged, keys));
  }
  for (const people of [
    [0, 1],
    [0, 4, 2],
    [0, 0, 2],
  ])
    cases.push(await judge(`people ${people}`, makeEnrolledAuthorization(people), keys));
  for (const [what, , forged] of listBadAmendments())
    cases.push(await judge(`amended: ${what}`, forged, keys));
  const { request_id } = makeAmendedAuthorization().request;
  const { before, ...shownNow } = amendedShown;
  for (const shown of [
    amendedShown,
    shownNow,
    { ...shownNow, before: { ...before, context: { invoice: "2026-113" } } },
    { ...shownNow, before: { ...before, context: {} } },
    { ...amendedShown, questions: [{ question: "?" }] },
  ]) {
    const human_authorization = makeAmendedAuthorization();
    cases.push(await judge("amended and shown", { request_id, human_authorization, ...shown }, keys));
  }
  for (const [forked, fits] of forkedRosters()) {
    const found = await judge(JSON.stringify(forked.approvals.map(({ type }) => type)), forked, keys);
    const roster = found["checks"] as { name: string; reason?: string }[];
    expect(roster.find(({ name }) => name === "roster")?.reason).toBe(fits ? undefined : "roster_broken");
    cases.push(found);
  }
  for (const types of ["s", "-", "n", "b", "ss", ""]) {
    const human_authorization = makeRuledAuthorization({ details: { complete: true, types } });
    const answer = { request_id: testRequest.request_id, human_authorization, ...testShown };
    cases.push(await judge(`shown as ${types}`, answer, keys));
  }
  for (const { what, authorization, opening } of listOpenings()) {
    const { request_id } = authorization.request;
    const answer = { request_id, human_authorization: authorization, opening };
    cases.push(await judge(`opened: ${what}`, answer, keys));
  }
  for (const policies of [500, 501])
    cases.push(await judge(`${policies} policies`, makeRuledAuthorization({ policies }), keys));
  for (const length of [1000, 1001]) {
    const action = "😀".repeat(length);
    cases.push(await judge(`${length} characters`, makeRuledAuthorization({ action }), keys));
  }
  for (const host of [
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::01]",
    "[::1%25lo]",
    "[::1",
    "[::x]",
    "[2001:db8::1]",
  ]) {
    const origin = `https://${host}`;
    cases.push(await judge(origin, makeRuledAuthorization({ origin }), keys));
  }
  return cases;
}

/** Times that a service may choose, between those beside them. */
const chosenTimes = ["verified_at", "roster.head.changed_at"];

/** Changed places in a list and changed deputies, signed again by a service that lies. */
async function judgeLyingApprovals(test: TestApp): Promise<Case[]> {
  const known = (await test.call("GET", "/v1/pubkey")).body;
  const keys = {
    ...known,
    keys: [{ ...known.keys[0], key_id: testKeyId, public_key: base64Encode(testPublicKey) }],
  };
  const random = createRandom(57);
  const wholes = [makeListedAuthorization(), makeDeputyAuthorization()];
  const cases: Case[] = [];
  while (cases.length < 300) {
    const whole = wholes[cases.length % 2] ?? makeVersion2();
    const [first, ...rest] = whole.approvals;
    const paths = listPaths(first).filter((at) => !chosenTimes.includes(at.join(".")));
    const own = paths.filter((at) => at.includes("list") || at.includes("deputy_for"));
    const at = (random(2) === 0 ? own : paths)[random(own.length)] ?? [];
    const forge = [
      (parent: Record<string, unknown>, name: string | number) => delete parent[name],
      (parent: Record<string, unknown>) => Object.assign(parent, { added: 1 }),
      ...Array(4).fill((parent: Record<string | number, unknown>, name: string | number) => {
        parent[name] = otherThan(parent[name], random);
      }),
    ][random(6)];
    const changed = change(first, at, forge) as HumanAuthorization["approvals"][number];
    const isSame = JSON.stringify(changed) === JSON.stringify(first);
    if (isSame || JSON.stringify(changed).includes("9007199254740992")) continue;
    const forged = { ...whole, approvals: [changed, ...rest] };
    const signed = signForTest({ ...forged, version: chooseVersion(forged) });
    cases.push(await judge(at.join("."), signed, keys));
  }
  return cases;
}

function makeVersion2(): HumanAuthorization {
  const request = { ...enrolledRequest, details: { complete: false, types: "sn-b" } };
  const approvals = [0, 1, 2].map((person) => makePasskeyApproval(request, testRoster, person));
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

/** The second of three approves by another roster than the others, and whether the organization can have had both. */
function forkedRosters(): [HumanAuthorization, boolean][] {
  const { head } = testRoster;
  const previous = rosterHash(head);
  const changed_at = "2026-11-20T09:00:00.000Z";
  const others: [Partial<RosterHead>, boolean][] = [
    [{ changed_at }, false],
    [{ changed_at, number: 2, previous }, true],
    [{ changed_at, number: 2, previous: "ab".repeat(32) }, false],
    [{ changed_at, number: 3, previous: "ab".repeat(32) }, true],
  ];
  return others.map(([other, fits]) => {
    const approvals = [0, 1, 2].map((person) =>
      makePasskeyApproval(
        enrolledRequest,
        person === 1 ? { ...testRoster, head: { ...head, ...other } } : testRoster,
        person,
      ),
    );
    return [signForTest(buildAuthorization(enrolledRequest, { ...testFacts, approvals })), fits];
  });
}

/** Payloads with a lie in them, as a service would sign them. */
async function judgeLies(test: TestApp): Promise<Case[]> {
  const known = (await test.call("GET", "/v1/pubkey")).body;
  const request = { agent_slug: "clock-bot", action: "act", inputs_hash: "x" };
  const agentId = "019a0000-0000-7000-8000-000000000003";
  const hash = { method: "hash", approver_hash: null } as const;
  const places = { nullifier_hashes: [], approver_ids: [], inputs_bound: false };
  const texts = { level: "none", request_hash: "ab", authorization_hash: "ab", environment: "local" };
  const backed = { method: "rule" as const, ...texts, ...places };
  const asked = (more: JsonObject) => ({ ...request, ...more });
  const lies: Partial<ActionPredicate>[] = [
    {},
    { request: asked({ human_approved: true }), human_approval: hash },
    { trace: { signal: "span", trace_id: "ab".repeat(16), span_id: "cd".repeat(8) } },
    { trace: { signal: "log", trace_id: null, span_id: null } },
    {
      request: asked({ parent: { id: agentId, payload_hash: "ab".repeat(32), origin: "other.example/log" } }),
    },
    ...["soon", "2026-11-21T09:06:00Z", " 2026-11-21T09:06:00.000Z", "2026-02-30T09:06:00.000Z"].flatMap(
      (time) => [{ timestamp: time }, { agent_frozen_at: time }],
    ),
    ...[
      "grant_revoked",
      "grant_ended",
      "code_changed",
      "rule_forbids",
      "rule_demands_more",
      "toString",
      null,
    ].map((reason) => ({
      request: asked({ human_authorization_hash: "ab" }),
      human_approval: backed,
      approval_stopped: { reason, claimed_at: "2026-11-21T09:06:00.000Z" } as ApprovalStop,
    })),
    ...[
      {
        approval_stopped: { reason: "rule_forbids", claimed_at: "2026-11-21T09:06:00.000Z" } as ApprovalStop,
      },
      {
        request: asked({ human_authorization_hash: "ab" }),
        human_approval: backed,
        approval_stopped: { reason: "rule_forbids", claimed_at: "soon" } as ApprovalStop,
      },
    ],
    ...[
      { signal: "span", trace_id: null, span_id: "cd".repeat(8) },
      { signal: "metric", trace_id: "ab".repeat(16), span_id: "cd".repeat(8) },
      { signal: "span", trace_id: "AB".repeat(16), span_id: "cd".repeat(8) },
      { signal: "span", trace_id: `${"ab".repeat(15)}a\n`, span_id: "cd".repeat(8) },
      { signal: "log", trace_id: null },
      { signal: "log", trace_id: null, span_id: null, more: 1 },
      null,
    ].map((trace) => ({ trace: trace as TraceMark })),
    {
      trace: { signal: "log", trace_id: null, span_id: null },
      request: asked({ human_approved: true }),
      human_approval: hash,
    },
    { trace: { signal: "log", trace_id: null, span_id: null }, agent_signature: "AAAA" },
    { human_approval: hash },
    { request: asked({ human_approved: true }) },
    { request: asked({ human_approved: true, human_approver_hash: "ada" }), human_approval: hash },
    { request: asked({ human_authorization_hash: "ab" }) },
    { human_approval: backed },
    { request: asked({ human_approved: false, human_authorization_hash: "ab" }), human_approval: backed },
  ];
  return Promise.all(
    lies.map(async (said, at) => {
      const { answer, trust } = await makeBoundedReceipt({ made: 1_795_000_000 }, said);
      const [key] = trust.keys.map(({ keyId, publicKey }) => ({
        ...known.keys[0],
        ...{ key_id: keyId, public_key: base64Encode(publicKey), log_origin: answer.log.origin },
      }));
      const log = {
        ...known.log,
        ...{ origin: answer.log.origin, vkey: trust.logKeys.map(encodeVerifierKey)[0] },
      };
      return judge(`lie ${at}`, answer, { ...known, keys: [key], log, logs: [log] });
    }),
  );
}

function makeRuledAuthorization({
  policies = 1,
  action = testRequest.action,
  origin = testRequest.origin,
  details = undefined as SignedDetails | undefined,
}): HumanAuthorization {
  const policy_ids = Array.from({ length: policies }, (_, i) => `policy-${i}`);
  const hash = "ab".repeat(32);
  const decided_by = { kind: "rule", ruleset_hash: hash, policy_ids, context_hash: hash } as const;
  const facts = { ...testFacts, approvals: [], decided_by };
  return signForTest(
    buildAuthorization({ ...testRequest, action, origin, ...(details && { details }) }, facts),
  );
}

const unlisted = new Error("a receipt that nobody holds");

async function judgeRecord(name: string, page: Json, receipts: Map<string, string>, keys: Json, at: number) {
  const given = JSON.parse(JSON.stringify(page));
  const source = {
    readPage: async () => given,
    readAnswer: async (id: string) => receipts.get(id) ?? Promise.reject(unlisted),
    readRows: async () => null,
    readStatements: async () => ({ statements: [], next: null }),
  };
  const request = { nowSeconds: at, receipts: [...receipts.values()], sumUpTo: 0 };
  const found = await checkRecord(source, parseTrust(keys), request).catch((error: unknown) => {
    if (error instanceof UnreadableError) return { verdict: "refused" as const, checks: [] };
    // Another id of the newest: the other verifier finds receipts by their numbers.
    if (error === unlisted) return null;
    throw error;
  });
  const { verdict, checks } = found ?? { verdict: null, checks: [] };
  return {
    kind: "record",
    name,
    pages: [given],
    receipts: [...receipts.values()],
    keys: JSON.stringify(keys),
    verdict,
    checks,
    now: at,
  };
}

/** A record of every kind of entry, counted by a snapshot, and what a lying service could show in its place. */
async function judgeRecords(test: TestApp): Promise<Case[]> {
  const { key } = await test.createKey();
  const slug = "followed-bot";
  const attest = async (more: object = {}) => {
    const body = { agent_slug: slug, action: "Paid", inputs_hash: "abc", ...more };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  const read = async (path: string): Promise<Json> => (await test.call("GET", path)).body;
  await attest();
  await attest({ is_public: false });
  await (await ask(test, key, { agent_slug: slug })).deny("no");
  await test.call("POST", "/v1/identity/register", { key, body: { slug, tools: ["pay"] } });
  const newest = await attest({ tools_used: ["pay"] });
  await attest({ is_public: false });
  await makeSnapshot({ ...test.app.context, merge: async (...given) => mergeHeads(...given) });
  const page = await read(`/v1/agent/${slug}/record?limit=1000`);
  const keys = await read("/v1/pubkey");
  const id = newest.attestation_id;
  const receipts = new Map([[id, JSON.stringify(await read(`/v1/verify/${id}`))]]);
  const at = Math.floor(Date.now() / 1_000);
  const cases = [await judgeRecord("whole", page, receipts, keys, at)];
  expect(cases[0]?.verdict).toBe("valid");
  const posted = new Map([[id, JSON.stringify(newest)]]);
  cases.push(await judgeRecord("by the answer to POST", page, posted, keys, at));
  const long = new Map([...receipts].map(([at, text]) => [at, text.padEnd(1024 * 1024 + 1)]));
  cases.push(await judgeRecord("with a long file", page, long, keys, at));
  expect(cases.slice(1).map(({ verdict }) => verdict)).toEqual(["valid", "valid"]);
  cases.push(await judgeRecord("kept for a day", page, receipts, keys, at + 86_400));
  const { snapshot: _hidden, ...hiding } = page;
  cases.push(await judgeRecord("snapshot hidden", hiding, receipts, keys, at));
  for (let cut = 0; cut < page.entries.length; cut += 1) {
    const entries = page.entries.toSpliced(cut, 1);
    cases.push(await judgeRecord(`without ${cut + 1}`, { ...page, entries }, receipts, keys, at));
    const shorter = page.entries.slice(0, cut);
    cases.push(await judgeRecord(`cut after ${cut}`, { ...page, entries: shorter }, receipts, keys, at));
  }
  const unreadable = { ...page.snapshot, statement: { ...page.snapshot.statement, key_id: 1 } };
  const broken = { ...page, snapshot: unreadable, entries: page.entries.slice(1) };
  cases.push(await judgeRecord("a snapshot that can't be read", broken, receipts, keys, at));
  const { statement } = page.snapshot;
  const larger = { ...statement, log: { ...statement.log, tree_size: statement.log.tree_size + 1 } };
  const misplaced = { ...page, snapshot: { ...page.snapshot, statement: larger } };
  cases.push(await judgeRecord("a snapshot in a larger tree", misplaced, receipts, keys, at));
  expect(cases.at(-1)?.verdict).toBe("invalid");
  const { rows_url } = page.snapshot;
  const addresses = [
    ...[`${rows_url}?`, `${rows_url}\n`, `${rows_url}/`, `${rows_url}٣`, ` ${rows_url}`, `x${rows_url}`],
    ...[`https://example.com/?at=${rows_url}`, "/log/agent-heads/1"],
    rows_url.replace("/log/", "/log/./"),
  ];
  for (const address of addresses) {
    const elsewhere = { ...page, snapshot: { ...page.snapshot, rows_url: address } };
    cases.push(await judgeRecord(address, elsewhere, receipts, keys, at));
    expect(cases.at(-1)?.verdict, address).toBe("refused");
  }
  const elsewhere = { ...page.snapshot, rows_url: "https://other.example:8443/under/log/2/agent-heads/1" };
  cases.push(
    await judgeRecord("rows of another service", { ...page, snapshot: elsewhere }, receipts, keys, at),
  );
  expect(cases.at(-1)?.verdict).toBe("valid");
  const random = createRandom(seed + 2);
  while (cases.length < 260) {
    const changed = mutate(page, [page], random);
    if (typeof changed === "string") continue;
    cases.push(await judgeRecord(String(cases.length), changed, receipts, keys, at));
  }
  return cases.filter(({ verdict }) => verdict !== null);
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

function judgeSignatures(): Case[] {
  const cases: Case[] = makeSignatureVectors().testGroups.flatMap(({ publicKey, tests }) =>
    tests.map(({ comment, msg, sig }) => signatureCase(comment, sig, msg, publicKey.pk)),
  );
  const secret = new Uint8Array(32).fill(5);
  const message = Buffer.from("torsion");
  const { Point } = ed25519;
  const honest = Point.fromBytes(ed25519.getPublicKey(secret));
  const torsion = Point.fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
  for (let n = 0; n < 8; n += 1) {
    const point = n === 0 ? Point.ZERO : torsion.multiplyUnsafe(BigInt(n));
    for (const one of [point, honest.add(point)]) {
      const key = hex(one.toBytes());
      const verdict = vetPublicKey(one.toBytes());
      cases.push({ kind: "key", name: key, key, fault: verdict.ok ? null : verdict.problem });
      const signature = `${key}${"00".repeat(32)}`;
      for (const publicKey of [key, hex(honest.toBytes())])
        cases.push(signatureCase("torsion", signature, hex(message), publicKey));
    }
  }
  for (const key of [
    "ff".repeat(32),
    `${"00".repeat(31)}80`,
    `01${"00".repeat(30)}80`,
    `ed${"ff".repeat(30)}7f`,
    "00",
  ]) {
    const verdict = vetPublicKey(Buffer.from(key, "hex"));
    cases.push({ kind: "key", name: key, key, fault: verdict.ok ? null : verdict.problem });
  }
  return cases;
}

function signatureCase(name: string, signature: string, message: string, key: string): Case {
  const bytes = [signature, message, key].map((text) => new Uint8Array(Buffer.from(text, "hex")));
  const [s = new Uint8Array(), m = new Uint8Array(), k = new Uint8Array()] = bytes;
  return { kind: "signature", name, signature, message, key, ok: verifyEd25519Strict(s, m, k) };
}

function canonicalOrNull(text: string): string | null {
  try {
    return canonicalJson(parseStrictJson(text));
  } catch {
    return null;
  }
}

function judgeTexts(): Case[] {
  const random = createRandom(seed + 1);
  const digits = () => Array.from({ length: 1 + random(20) }, () => random(10)).join("");
  const numbers = Array.from({ length: 2_000 }, () => {
    const whole = random(3) === 0 ? "0" : digits().replace(/^0+(?=\d)/, "");
    const exponent = random(2) === 0 ? "" : `${["e", "E+", "e-"][random(3)]}${random(340)}`;
    return `${random(4) === 0 ? "-" : ""}${whole}${random(2) === 0 ? "" : `.${digits()}`}${exponent}`;
  });
  const view = new DataView(new ArrayBuffer(8));
  const doubles = Array.from({ length: 2_000 }, () => {
    view.setUint32(0, random(2 ** 32));
    view.setUint32(4, random(2 ** 32));
    return String(view.getFloat64(0));
  });
  const odd = [
    "0",
    "-0",
    "-0.0",
    "1e400",
    "1e-400",
    "9007199254740993",
    "1e21",
    "1e-7",
    "5e-324",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
    "Infinity",
    "1e",
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\u2028\\u000f\\/\u007f"',
    '{"b":1,"a":2,"\\u20ac":3,"\\ud83d\\ude00":4,"\\ufb33":5}',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
    '{"__proto__":1}',
    "[".repeat(32) + "]".repeat(32),
    "[".repeat(33) + "]".repeat(33),
    `"${"a".repeat(1024 * 1024 - 2)}"`,
    `"${"a".repeat(1024 * 1024 - 1)}"`,
    "\ufeff1",
    " 1\n",
    "\u00a01",
    "'a'",
    '"\t"',
    "[1,]",
    "{}",
    '{"1":1,"0":2,"10":3}',
    "nul",
    "",
    '"\\x"',
    '"\\u00zz"',
    "\u000b1",
    "[1]]",
  ];
  return [...odd, ...numbers, ...doubles].map((text) => ({
    kind: "json",
    name: text.slice(0, 60),
    text,
    canonical: canonicalOrNull(text),
  }));
}

describe.skipIf(python.missing)("both verifiers (run by npm run test:python)", () => {
  const { test } = setupTestApp(anyKind);
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-agree-"));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
  });

  const agree = (cases: Case[]) => agreeWithPython(python.path ?? "", cases);

  const runCommand = (...args: string[]) =>
    runProgram(python.path ?? "", ["-m", "countersign_client", "verify", ...args], {
      cwd: folder,
      env: pythonEnv,
    });

  it("end alike: 1 for a bundle of the future, 2 for arguments that can't be read", async () => {
    const { key } = await test.createKey();
    const request = { agent_slug: "bundled", action: "x", inputs_hash: "y" };
    const { body } = await test.call("POST", "/v1/attest", { key, body: request });
    const bundle = (await test.call("GET", `/v1/verify/${body.attestation_id}/bundle`)).body;
    const pubkey = (await test.call("GET", "/v1/pubkey")).body;
    writeFileSync(path.join(folder, "keys.json"), JSON.stringify(pubkey));
    const end = async (...args: string[]) => (await runCommand(...args)).code;
    const judgeBundle = (...more: string[]) => {
      writeFileSync(path.join(folder, "bundle.json"), JSON.stringify(bundle));
      return end("bundle.json", "--keys", "keys.json", ...more);
    };
    expect(await judgeBundle()).toBe(0);
    bundle.verificationMaterial.tlogEntries[0].integratedTime = "32503680000";
    expect(await judgeBundle()).toBe(1);
    expect(await judgeBundle("--payload", "nothing")).toBe(2);
    expect(await end("bundle.json", "--base", "https://[::1")).toBe(2);
    expect(await end("x".repeat(5_000))).toBe(2);
    expect(await end("bundle.json", "--key", "x".repeat(5_000), "--log-vkey", "x")).toBe(2);
  });

  it("agree on the golden receipts of every release", async () => {
    const cases = await judgeGolden();
    expect(cases.slice(-3).map(({ verdict }) => verdict)).toEqual(["refused", "refused", "valid"]);
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("agree on approvals by passkey, and on each of their fields changed, bound and signed again", async () => {
    const cases = await judgeForgeries(test);
    expect(cases[0]?.["verdict"], "without a log entry").toBe("incomplete");
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("refuse 300 changes of places in a list and of deputies, signed again by a service that lies", async () => {
    const cases = await judgeLyingApprovals(test);
    const passed = cases.filter(({ verdict }) => !["invalid", "refused"].includes(String(verdict)));
    expect(passed.map(({ name, receipt }) => [name, receipt])).toEqual([]);
    expect(new Set(cases.map(({ verdict }) => verdict)).size).toBe(2);
    expect((await agree(cases))["receipt"]).toBe(300);
  });

  it("compare what they are given to compare with, and never say that all is well over a TEST approval", async () => {
    const golden = (name: string) => path.resolve("public/vectors/1.0.0", name);
    const verify = (file: string, ...more: string[]) =>
      runCommand(golden(file), "--keys", golden("keys.json"), ...more);
    const { code, out } = await verify("rule-approved.json");
    expect([code, out]).toEqual([0, expect.stringMatching(/approval_test\].*^Authentic, 1 warning\. No/ms)]);
    expect((await verify("plain.json")).out).toMatch(/^Authentic\. Every check passed\./m);
    // Heads a test as one, and names what only verify.mjs can check.
    const human = (await verify("human-approved.json")).out;
    expect(human).toMatch(/^TEST\. This was decided on a TEST instance/);
    expect(human).toMatch(/^ {2}not checked {2}human_authorization .*checked by verify\.mjs/m);
    expect((await verify("plain.json")).out).not.toMatch(/TEST|not checked/);
    const payload = ["--payload", golden("plain.json")];
    expect((await verify("human-authorization.json", ...payload)).code).toBe(2);
    expect((await verify("plain.json", "--receipt", golden("plain.json"))).code).toBe(2);
    const proof = readFileSync(golden("receipt.tlog-proof"), "utf8");
    const liar = await listen((_, outgoing) => void outgoing.end(proof));
    const asked = `${liar.base}/v1/verify/01999999-9999-7999-8999-999999999999`;
    const answered = async (address: string) =>
      (await runCommand(address, "--keys", golden("keys.json"))).code;
    expect(await answered(asked)).toBe(2);
    expect(await answered(`${asked}/tlog-proof`)).toBe(0);
    await liar.close();
  });

  it("agree on an owner's answer about an approval: compared, or named as proven by nothing", async () => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, { agent_slug: "asked-bot", context: { invoice: "1" } });
    await asked.approve("ada");
    const answer = (await test.call("GET", `/v1/authorize/${asked.made.request_id}`, { key })).body;
    const keys = (await test.call("GET", "/v1/pubkey")).body;
    const at = "2026-11-28T10:00:00.000Z";
    const lies = [
      ...[{ context: {} }, { action: "y" }, { amount: {} }, { environment: "production" }],
      ...[{ agent_slug: "other" }, { decided_by: null }, { usable_until: 1 }],
      ...[{ status: "denied" }, { status: "pending" }, { decided_at: at }, { decided_at: null }],
      ...[{ required: 1, given: 2 }, { required: 2, given: 1 }, 1].map((approvals) => ({ approvals })),
      { confirmation_code: "AAA-AAA" },
      { required_approvers: [{ group: "g", name: "finance", count: 1 }] },
    ];
    const news = [{ revoked_at: at }, { used_at: at }, { attestation_id: "a" }, { denial_reason: "no" }];
    const others = [{}, { group: 1 }];
    const said = [...lies, ...news, ...others];
    const cases = await Promise.all(
      said.map((one) => judge(JSON.stringify(one), { ...answer, ...one }, keys)),
    );
    expect(cases.map(({ verdict }) => verdict)).toEqual(
      said.map((_, i) => (i < lies.length ? "invalid" : "valid")),
    );
    for (const [i, one] of news.entries())
      expect(cases[lies.length + i]?.["unproven"]).toEqual(expect.arrayContaining(Object.keys(one)));
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("agree on a keys file with a damaged BBS key", async () => {
    const { answer, keys } = await makeDecidedReceipt({});
    const zk = { keys: [{ key_id: "z", status: "active", public_key: "not base64url!" }] };
    const damaged = await judge("damaged", answer, { ...(keys as object), zk });
    expect(damaged["verdict"]).toBe("refused");
    expect((await agree([damaged]))["receipt"]).toBe(1);
  });

  const claimedBefore = { claimed_at: "2026-11-21T08:06:00.000Z" };
  const claimedAfter = { claimed_at: "2026-11-21T23:06:00.000Z" };
  it.each<[string, [DecidedLie, string][]]>([
    [
      "which of two leaves comes first: the decision or what it backs",
      [
        [{ isLate: false }, "valid"],
        [{ isLate: true }, "invalid"],
      ],
    ],
    [
      "an approval that doesn't fit what it backs: by the links of the record, or by a freeze",
      [
        [{}, "valid"],
        [{ isApart: true }, "valid"],
        [{ previous: "cd".repeat(32) }, "invalid"],
        [{ isApart: true, previous: "cd".repeat(32) }, "invalid"],
        [{ listed: new Uint8Array(32) }, "invalid"],
        [{ frozen: "2026-11-20T08:00:00.000Z" }, "invalid"],
      ],
    ],
    [
      "a use after its stop: a warning if it was claimed before, and no proof of it otherwise",
      [
        [{ stop: { reason: "rule_forbids", ...claimedBefore } }, "valid"],
        [{ stop: { reason: "rule_demands_more", ...claimedBefore } }, "valid"],
        [{ stop: { reason: "rule_forbids", ...claimedAfter } }, "invalid"],
        [{ stop: { reason: "grant_revoked", ...claimedBefore } }, "invalid"],
      ],
    ],
  ])("agree on %s", async (_, lies) => {
    const cases = await Promise.all(
      lies.map(async ([lie]) => {
        const { answer, keys } = await makeDecidedReceipt(lie);
        return judge(JSON.stringify(lie), answer, keys);
      }),
    );
    expect(cases.map(({ verdict }) => verdict)).toEqual(lies.map(([, verdict]) => verdict));
    const warned = cases.map(({ warnings }) => JSON.stringify(warnings).includes("approval_stopped"));
    expect(warned).toEqual(lies.map(([{ stop }, verdict]) => stop !== undefined && verdict === "valid"));
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("agree on a record that lists another decision than the one behind a receipt", async () => {
    const cases = await Promise.all(
      [undefined, new Uint8Array(32)].map(async (listed) => {
        const { answer, keys, record } = await makeDecidedReceipt({
          isApart: true,
          ...(listed && { listed }),
        });
        const receipts = new Map([[String(answer["attestation_id"]), JSON.stringify(answer)]]);
        return judgeRecord(listed === undefined ? "honest" : "lying", record, receipts, keys, now);
      }),
    );
    expect(cases.map(({ verdict }) => verdict)).toEqual(["incomplete", "invalid"]);
    expect((await agree(cases))["record"]).toBe(cases.length);
  });

  it("agree on a record in which one decision is behind two attestations", async () => {
    const { answer, again, keys, record } = await makeDecidedReceipt({ isTwice: true });
    const texts = [answer, again].map((one) => [String(one["attestation_id"]), JSON.stringify(one)] as const);
    const cases = [
      await judgeRecord("the newest alone", record, new Map(texts.slice(1)), keys, now),
      await judgeRecord("both", record, new Map(texts), keys, now),
    ];
    expect(cases.map(({ verdict }) => verdict)).toEqual(["incomplete", "invalid"]);
    expect((await agree(cases))["record"]).toBe(cases.length);
  });

  it("agree on a record in which a changed request was approved before the one that it changes was cancelled", async () => {
    const cases = await Promise.all(
      (["before", "after"] as const).map(async (cancelled) => {
        const { answer, keys, record } = await makeDecidedReceipt({ cancelled });
        const receipts = new Map([[String(answer["attestation_id"]), JSON.stringify(answer)]]);
        return judgeRecord(`cancelled ${cancelled}`, record, receipts, keys, now);
      }),
    );
    expect(cases.map(({ verdict }) => verdict)).toEqual(["incomplete", "invalid"]);
    expect((await agree(cases))["record"]).toBe(cases.length);
  });

  it("agree on payloads that say what their request or no clock does", async () => {
    const cases = await judgeLies(test);
    expect(cases.map((one) => one["verdict"] === "valid")).toEqual(cases.map((_, at) => at < 5));
    const warned = cases.map(({ warnings }) => JSON.stringify(warnings).includes("reported_by_trace"));
    expect(warned).toEqual(cases.map((_, at) => at === 2 || at === 3));
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("pass the conformance suite, this one but for pairings and packs", async () => {
    const runner = path.resolve("public/vectors/conformance/conformance.mjs");
    const skipped = ["--without", "pairing", "--without", "pack"];
    const command = [python.path ?? "", "-m", "countersign_client", "verify"];
    const { code, out } = await runProgram(process.execPath, [runner, ...skipped, "--", ...command], {
      env: { PATH: process.env["PATH"], ...pythonEnv },
    });
    expect([code, out]).toEqual([0, expect.stringMatching(/^suite 1: \d+ passed, 0 failed/)]);
  });

  it("agree on a whole record, and on what a lying service could show in its place", async () => {
    const cases = await judgeRecords(test);
    const verdicts = new Set(cases.map(({ verdict }) => verdict));
    expect([...verdicts].sort()).toEqual(["incomplete", "invalid", "refused", "valid"]);
    expect((await agree(cases))["record"]).toBe(cases.length);
    const [whole] = cases;
    for (const [name, text] of [
      ["record.json", JSON.stringify(whole?.["pages"])],
      ["keys.json", String(whole?.["keys"])],
      ["newest.json", String((whole?.["receipts"] as string[] | undefined)?.[0])],
    ] as const)
      writeFileSync(path.join(folder, name), text);
    const verifyRecord = (...more: string[]) => runCommand("record.json", "--keys", "keys.json", ...more);
    const complete = await verifyRecord("--receipt", "newest.json");
    expect([complete.code, complete.out]).toEqual([0, expect.stringContaining("The record is complete")]);
    expect(await verifyRecord()).toMatchObject({
      code: 3,
      out: expect.stringContaining("Not checked: newest_signed"),
    });
    writeFileSync(path.join(folder, "record.json"), JSON.stringify([whole?.["pages"], {}].flat()));
    expect((await verifyRecord("--receipt", "newest.json")).code, "with a page that is none").toBe(2);
  });

  it(`agree on ${mutants} changed receipts of seed ${seed}`, async () => {
    const cases = await judgeMutants(test);
    const verdicts = new Set(cases.map(({ verdict }) => verdict));
    expect([...verdicts].sort()).toEqual(["erased", "incomplete", "invalid", "refused", "valid"]);
    expect((await agree(cases))["receipt"]).toBeGreaterThan(mutants);
  });

  it("agree on signatures, with every fault, and on keys with a torsion part", async () => {
    const counted = await agree(judgeSignatures());
    expect(counted["signature"]).toBeGreaterThan(100);
    expect(counted["key"]).toBeGreaterThan(15);
  });

  it("show amounts alike, in every currency and in codes that are none", async () => {
    const currencies = Array.from({ length: 26 ** 3 }, (_, code) =>
      [676, 26, 1].map((weight) => String.fromCharCode(65 + (Math.floor(code / weight) % 26))).join(""),
    );
    const values = ["0", "1000", "12000.5", "99999999999999.1234"];
    const cases = currencies.flatMap((currency, i) => {
      const value = values[i % values.length] ?? "0";
      const text = formatAmount({ value, currency });
      return [{ kind: "amount", name: `${value} ${currency}`, value, currency, text }];
    });
    expect((await agree(cases))["amount"]).toBe(26 ** 3);
  });

  it("agree on which texts are JSON, and on its canonical form", async () => {
    expect((await agree(judgeTexts()))["json"]).toBeGreaterThan(4_000);
  });
});
