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
import { measureGroup, readGroupDecision } from "#lib/protocol/approval/attention";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import type { SignedDetails } from "#lib/protocol/approval/shown-content";
import { base64Encode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { readZip, toByteSource } from "#lib/protocol/encoding/zip";
import { verifyEd25519Strict, vetPublicKey } from "#lib/protocol/keys/ed25519";
import { readPackEntry } from "#lib/protocol/pack/pack-entries";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-manifest";
import { type RosterHead, rosterHash } from "#lib/protocol/passkey/roster";
import {
  type Derivation,
  deriveStanding,
  suggestDefaults,
  suggestRules,
  suggestStanding,
} from "#lib/protocol/policy/suggest";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import type { ActionPredicate, TraceMark } from "#lib/protocol/statement/statement";
import { isTime } from "#lib/protocol/time/time-words";
import { encodeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { checkChain } from "#lib/verifier/checks/check-chain";
import { checkRecord } from "#lib/verifier/checks/check-record";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { parseTrust } from "#lib/verifier/checks/trust";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { checkPack, listWarnings, type PackReport } from "#lib/verifier/pack/check-pack";
import type { TestApp } from "#support/app";
import { ask } from "#support/authorizations";
import { makeBoundedReceipt } from "#support/bounded-receipt";
import { runProgram } from "#support/commands";
import { type DecidedLie, makeDecidedReceipt } from "#support/decided-receipt";
import {
  amendedShown,
  enrolledRequest,
  groupId,
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
import { collect, forge, type PackedFiles, pack, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { agreeWithPython, findPython, pythonEnv } from "#support/python";
import { makeReceiptSamples } from "#support/receipt-samples";
import { setupTestApp } from "#support/setup-app";
import { makeSignatureVectors } from "#support/signature-vectors";
import {
  approveByGrant,
  approveByPeople,
  createSignedLog,
  makePlantedPack,
  type PlantedLie,
  plantedEntry,
  plantedEntryHash,
  ruledBy,
  signedPeriod,
  signedTerms,
  timeAt,
  toPast,
} from "#support/signed-packs";
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
  // People have it as a file.
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
  const others = [null, true, false, 0, 1, -1, 0.5, 2 ** 53, "", "x", [], {}, [old], "\u0000", "é"];
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
  const nothing = { agent_authenticated: null, code_hash_verified: null, tools_authorized: null };
  const lies: Partial<ActionPredicate>[] = [
    {},
    { request: asked({ human_approved: true }), human_approval: hash },
    { trace: { signal: "span", trace_id: "ab".repeat(16), span_id: "cd".repeat(8) } },
    { trace: { signal: "log", trace_id: null, span_id: null } },
    ...[
      { title: "git push", at: "2026-11-21T08:00:00.000Z" },
      { title: 7, at: "2026-11-21T09:06:00Z" },
      { title: "git push" },
      { at: "2026-02-30T09:06:00.000Z" },
    ].flatMap((metadata) => [
      {
        request: asked({ client: { instance: "hook-1", sequence: 1 }, metadata }),
        verdicts: { ...nothing, client_gap: false },
      },
      {
        request: asked({ metadata }),
        trace: { signal: "log", trace_id: null, span_id: null } as const,
      },
      { request: asked({ metadata }) },
    ]),
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
    {
      request: asked({
        human_authorization_hash: "ab",
        client: { instance: "hook-1", sequence: 1 },
        metadata: { title: "git push" },
      }),
      verdicts: { ...nothing, client_gap: false },
      human_approval: backed,
    },
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

async function judgePack(
  name: string,
  bytes: Uint8Array,
  keys: Json = null,
  is_changed = false,
): Promise<Case> {
  const trust = keys === null ? null : parseTrust(keys);
  const { verdict, checks } = await checkPack(toByteSource(bytes), {
    tools: nodeIo.zip,
    trust,
    program: null,
  });
  return {
    ...{ kind: "pack", name, pack: base64Encode(bytes), keys: keys && JSON.stringify(keys), is_changed },
    ...{ verdict, checks, warnings: listWarnings({ checks } as PackReport) },
  };
}

const failuresOf = ({ checks }: Case) =>
  (checks as { name: string; status: string; reason?: string }[]).flatMap(({ name, status, reason }) =>
    status === "fail" ? `${name} ${reason}` : [],
  );

/** Adds what the service says about the attention of both groups, or a number that doesn't follow. */
function measureAttention(files: PackedFiles, isLie: boolean): void {
  const decided = [...files.keys()]
    .filter((name) => name.startsWith("decisions/"))
    .flatMap((name) => readGroupDecision(readPackEntry(name, parse(files, name)), parse(files, name)) ?? []);
  const groups = [0, 1].map((number) => {
    const since = timeAt(30 * number);
    const read = { read_to_end: 2 * number, not_read_to_end: number };
    const ended = new Map([["2026-11-16", { amended: 1, expired: number, ...read }]]);
    const weeks = measureGroup(decided, { group: groupId(number), since }, signedPeriod, ended);
    return { group: groupId(number), name: `Group ${number}`, since, weeks };
  });
  const [week] = groups[1]?.weeks ?? [];
  if (isLie && week) week.within_3_s += 1;
  files.set(packFiles.attention, encodePackJson({ version: 1, groups }));
}

/** A pack of what an agent and its people did, and now and then of something that no honest service signs. */
async function makeRandomPack(random: Random): Promise<Uint8Array> {
  const made = createSignedLog();
  const lies = random(3) > 0;
  /** Rarely, in packs that lie. */
  const isLie = (seldom = 12) => lies && random(seldom) === 0;
  const approved: HumanAuthorization[] = [];
  const grants: { grant: HumanAuthorization; uses: number; spent: number }[] = [];
  const usable: HumanAuthorization[] = [];
  const asked: HumanAuthorization["request"][] = [];
  let frozen: string | null = null;
  let own = 0;
  if (!isLie()) await made.stateRoster();
  const count = 8 + random(16);
  for (let i = 1; i <= count; i += 1) {
    const second = 10 * i;
    const isApprovable = frozen === null || isLie();
    const [grant] = grants.slice(random(Math.max(1, grants.length)));
    switch (random(isApprovable ? 13 : 5)) {
      case 0:
        await made.change(frozen === null ? "frozen" : "unfrozen", second);
        frozen = frozen === null ? timeAt(second) : null;
        break;
      case 1: {
        own += isLie() ? 2 : 1;
        const said = frozen !== null && !isLie() ? { agent_frozen_at: frozen } : {};
        const gap = isLie();
        const registered = { agent_public_key: null, code_hash: "x", tool_manifest_hash: null };
        await made.attest(second, { client: [own, gap], said: { ...said, registered } });
        break;
      }
      case 2:
        await made.attest(second, {
          isSigned: isLie(6),
          said: frozen === null ? {} : { agent_frozen_at: frozen },
        });
        break;
      case 3: {
        const request = { ...enrolledRequest, request_id: `areq_d${i}` };
        asked.push(request);
        await made.decide(random(2) === 0 ? "denied" : "cancelled", second, { request });
        break;
      }
      case 4: {
        const [one] = approved.splice(random(Math.max(1, approved.length)), 1);
        if (one !== undefined) await made.change("authorization_revoked", second, one.request);
        break;
      }
      case 5: {
        const given = approveByPeople(i, second, random(2) === 0 ? { grant: signedTerms } : {});
        approved.push(given);
        if (given.request.grant === null) usable.push(given);
        else grants.push({ grant: given, uses: 0, spent: 0 });
        await made.decide("approved", second, { approval: given });
        break;
      }
      case 6:
      case 7: {
        if (grant === undefined) break;
        const amount = String(10 + random(isLie() ? 60 : 20));
        const use = grant.uses + 1 + (isLie(5) ? 1 : 0);
        const spent = String(grant.spent + Number(amount) + (isLie() ? 7 : 0));
        const tool = isLie(6) ? "rm" : "bank.transfer";
        const one = approveByGrant(grant.grant, i, second, { amount, use, spent }, { tool });
        if (random(2) > 0) Object.assign(grant, { uses: use, spent: Number(spent) });
        usable.push(one);
        await made.decide("approved", second, { approval: one });
        break;
      }
      default: {
        const at = random(Math.max(1, usable.length));
        const [one] = isLie(4) ? usable.slice(at) : usable.splice(at, 1);
        if (one === undefined) break;
        const claimed_at = timeAt(random(2) === 0 ? random(second) : second - 1);
        const isStopped = one.decided_by.kind === "grant" && random(2) === 0;
        const stop = { reason: "grant_revoked", claimed_at } as const;
        const said = {
          ...(isStopped && { approval_stopped: stop }),
          ...(frozen !== null && { agent_frozen_at: frozen }),
        };
        await made.attest(second + (random(6) === 0 ? 3_600 : 0), { approval: one, said });
      }
    }
  }
  if (random(3) === 0) {
    const amended = makeAmendedAuthorization();
    const request = amended.original_request as HumanAuthorization["request"];
    if (!isLie()) await made.decide("cancelled", 300, { request });
    if (frozen === null) await made.decide("approved", 301, { approval: amended });
    if (isLie()) await made.decide("cancelled", 302, { request });
  }
  const erase = (name: string, files: PackedFiles) => {
    const json = parse(files, name);
    const { log, ...rest } = json;
    if (json.type === "authorization_decision")
      files.set(
        name,
        encodePackJson({ ...rest, log, payload: null, request: null, human_authorization: null }),
      );
  };
  return made.pack({
    isCounted: random(4) > 0,
    change: (files) => {
      const names = [...files.keys()].filter((name) => name.startsWith("decisions/"));
      nameReplacement(files, names);
      const [name] = names.slice(random(Math.max(1, names.length)));
      if (name !== undefined && random(5) === 0) erase(name, files);
      if (name !== undefined && isLie()) files.delete(name);
      if (random(3) === 0) measureAttention(files, isLie(3));
    },
  });
}

/** The cancelled request's file names the decision about what an approver made of it, or another number. */
function nameReplacement(files: PackedFiles, names: readonly string[]): void {
  const cancelled = names.find((name) => String(parse(files, name).payload).includes('"cancelled"'));
  const changed = names.find((name) => parse(files, name).request?.amends);
  if (cancelled === undefined || changed === undefined) return;
  const { sequence: number, request, ...rest } = parse(files, changed);
  const named = [number, number, number + 1, String(number), 1][number % 5];
  files.set(cancelled, encodePackJson({ ...parse(files, cancelled), changed_into: named }));
  const amends = number % 3 === 0 ? {} : request.amends;
  files.set(changed, encodePackJson({ ...rest, sequence: number, request: { ...request, amends } }));
}

/** A standing approval that was suggested, and a use of it; or one that its derivation isn't of. */
async function approveDerived(
  made: ReturnType<typeof createSignedLog>,
  lie: number,
  { tool, ...plain }: Omit<HumanAuthorization["request"], "amount">,
  terms: GrantTerms,
  derivation: JsonObject,
): Promise<void> {
  const more = lie === 1 ? { max_calls: terms.max_calls + 1 } : {};
  const grant = deriveStanding({ ...terms, ...more }, derivation as unknown as Derivation);
  const request = { ...plain, request_id: "areq_standing", grant };
  const approvals = [0, 1, 2].map((person) => makePasskeyApproval(request, testRoster, person));
  const facts = { ...testFacts, approvals, approved_at: timeAt(61) };
  const approval = signForTest(buildAuthorization(request, facts));
  const shown = lie === 2 ? { ...derivation, salt: "BAAAAAAAAAAAAAAAAAAAAA==" } : derivation;
  await made.decide("approved", 61, { approval, ...(lie !== 3 && { derivation: shown }) });
  const by = { amount: "10", of: grant.max_calls, budget: grant.max_budget ?? null };
  const second = lie === 5 ? 3_400 : 62;
  const said = {
    ...{ details: { complete: lie !== 4, types: "ss" }, ...(tool !== undefined && { tool }) },
    ...{ created_at: timeAt(second), expires_at: timeAt(second + 60) },
  };
  const use = approveByGrant(approval, 62, second, by, said);
  await made.decide("approved", second, { approval: use });
}

const windowEnd = "2026-12-01T00:00:00.000Z";

/** Decisions that a suggested rule follows from, and everything around it that may be otherwise than it must be. */
async function makeDerivedPack(n: number, random: Random): Promise<Uint8Array> {
  const made = createSignedLog();
  await made.stateRoster();
  const names = ["Example Ltd", 'König & "Söhne"', "a\u{1f389}b", "A\u200b B"];
  // A rule that doesn't hold would hide the standing approval.
  const isStanding = n % 3 === 2;
  const [customer = ""] = names.slice(random(isStanding ? 2 : n % 2 === 0 ? 1 : names.length));
  const text = "permit (principal, action, resource);";
  const { amount: _amount, inputs_hash: _inputs, ...plain } = enrolledRequest;
  const past: { request: HumanAuthorization["request"]; context: Record<string, string> }[] = [];
  for (let i = 0; i < 6 + random(3); i += 1) {
    const day = `2026-11-${19 + (i % 3)}`;
    const request = {
      ...{ ...plain, request_id: `areq_${i}`, created_at: `${day}T0${6 + (i % 3)}:00:00.000Z` },
      ...((n % 3 === 0 || isStanding) && { amount: { value: String(10 + i), currency: "EUR" } }),
    };
    const invoice = `INV-${!isStanding && random(40) === 0 ? 1 : i}`;
    past.push({ request, context: { customer, invoice } });
  }
  const rows = past.map(({ request, context }) => toPast(request, context));
  const lie = isStanding ? 7 : random(8);
  // Chosen ones: another request had a value that is left open.
  if (lie === 0)
    past.push({ request: { ...plain, request_id: "areq_again" }, context: { customer, invoice: "INV-2" } });
  const [suggested] = suggestRules(rows, { ...suggestDefaults, withMoney: true });
  const bounds = suggested?.bounds ?? {
    ...{ agent: plain.agent_slug, tool: null, equal: { action: null, context: [] }, open: [], amount: null },
    hours: { from: 0, to: 23 },
  };
  const derivation = {
    ...{ version: 1, policy_id: suggested?.policyId ?? "learned-0", approvals: lie === 1 ? 9 : 5, days: 2 },
    bounds: lie === 2 ? { ...bounds, hours: { from: 0, to: 23 } } : bounds,
    ...{ from: "2026-11-01T00:00:00.000Z", salt: "AAAAAAAAAAAAAAAAAAAAAA==" },
    // Thirty days later is no year of Python's.
    to: n % 36 === 35 ? "9999-12-31T23:59:59.000Z" : windowEnd,
    requests: lie === 3 ? [...(suggested?.covers ?? []), "ab".repeat(32)] : (suggested?.covers ?? []),
  } as unknown as JsonObject;
  const rules = `${text}\n${suggested?.text ?? ""}`;
  const logged = lie === 4 ? "cd".repeat(32) : canonicalHash(derivation);
  await made.stateRules(rules, { derivation: logged });
  for (const [i, { request, context }] of past.entries()) {
    const seen = {
      ...ruledBy(text, request, context),
      ...(!isStanding && random(30) === 0 && { reason: "rule" }),
    };
    const approvals = [0, 1, 2].map((person) => makePasskeyApproval(request, testRoster, person));
    const facts = { ...testFacts, approvals, approved_at: timeAt(i) };
    const approval = signForTest(buildAuthorization(request, facts));
    await made.decide("approved", i, { approval, decided_by: { kind: "people" }, rules: seen });
  }
  if (!isStanding && (lie === 5 || random(6) === 0)) {
    const [first] = past;
    const request = { ...plain, ...first?.request, request_id: "areq_refused" };
    const context = { customer, invoice: "INV-99" };
    await made.decide("denied", 60, {
      ...{ request, decided_by: { kind: "people" } },
      rules: ruledBy(text, request, context),
    });
  }
  const terms = suggestStanding(bounds, windowEnd, rows);
  if (isStanding && terms !== null)
    await approveDerived(made, Math.floor(n / 3) % 6, plain, terms, derivation);
  made.files.set(numberedFile("rules", 1), encodePackJson({ version: 1, text, fallback: "ask" }));
  made.files.set(
    numberedFile("rules", 2),
    encodePackJson({ version: 2, text: rules, fallback: "ask", derivation }),
  );
  return made.pack();
}

/** Chains of three across two instances, and every way in which one of them doesn't lead to its beginning. */
async function judgeChains(test: TestApp): Promise<Case[]> {
  const { key } = await test.createKey();
  const other = createSignedLog();
  const linkTo = ({ attestation_id: id, payload_hash, log }: Json) => ({
    id,
    payload_hash,
    origin: log.origin,
  });
  const attest = async (action: string, more: object = {}): Promise<Json> => {
    const body = { agent_slug: "chained", action, inputs_hash: "x", ...more };
    return (await test.call("POST", "/v1/attest", { key, body })).body;
  };
  const read = async ({ attestation_id: id }: Json, by?: string): Promise<Json> =>
    (await test.call("GET", `/v1/verify/${id}`, by === undefined ? {} : { key: by })).body;
  const first = await attest("Order 20 chairs");
  const request = { agent_slug: "treasurer", action: "Reserve", inputs_hash: "x" };
  await other.attest(1, { said: { request: { ...request, parent: linkTo(first) } } });
  const second = parse(other.files, numberedFile("attestations", 1));
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const third = await attest("Pay the deposit", { parent: linkTo(second), traceparent, is_public: false });
  const lying = (lie: object) => attest("Pay", { parent: { ...linkTo(first), ...lie } });
  await other.pack();
  const both = [(await test.call("GET", "/v1/pubkey")).body, parse(other.files, packFiles.keys)];
  const opened = await read(third, key);
  const hash = { approver_hash: "a", human_approved: true, human_approver_hash: "sha256:boss" };
  const chains: [string, string, Json[], Json[]?][] = [
    ["whole", "valid", [opened, second, await read(first)]],
    ["in another order", "valid", [opened, await read(first), second]],
    ["without a payload", "incomplete", [await read(third)]],
    ["without its beginning", "incomplete", [opened, second]],
    ["with one more", "invalid", [opened, second, await read(first), await read(await attest("alone"))]],
    [
      "with a link that fails",
      "invalid",
      [opened, { ...second, signature: opened.signature }, await read(first)],
    ],
    ["of another hash", "invalid", [await lying({ payload_hash: "ab".repeat(32) }), await read(first)]],
    ["of another log", "invalid", [await lying({ origin: "countersign.example/log" }), await read(first)]],
    [
      "with a warning",
      "valid",
      [await read(await attest("asserted", { ...hash, approver_hash: undefined }))],
    ],
    ["with a file twice", "refused", [opened, opened]],
    ["with the keys of one instance", "refused", [opened, second, await read(first)], both.slice(0, 1)],
    ["of no receipt", "refused", [{ attestation_id: "x" }]],
  ];
  const cases: Case[] = [];
  for (const [name, expected, receipts, keys = both] of chains) {
    const texts = receipts.map((receipt) => JSON.stringify(receipt));
    const found = await checkChain(texts, keys.map(parseTrust)).catch((error: unknown) => {
      if (error instanceof UnreadableError) return { verdict: "refused" as const, checks: [], links: [] };
      throw error;
    });
    expect(found.verdict, name).toBe(expected);
    cases.push({
      kind: "chain",
      name,
      receipts: texts,
      keys: keys.map((one) => JSON.stringify(one)),
      ...found,
    });
  }
  return cases;
}

/** Packs that the service makes: of one agent, of two, with names opened, and without private content. */
async function makeServicePacks(test: TestApp): Promise<Uint8Array[]> {
  const { key, organizationId } = await test.createKey();
  const person = await signInPerson(test.app.context, "dev@example.com", organizationId);
  const post = async (address: string, body: object) =>
    expect((await test.call("POST", address, { key, body })).status, address).toBeLessThan(300);
  const [agent, other] = ["packed-bot", "opened-bot"] as const;
  const attest = (more: object = {}) =>
    post("/v1/attest", { agent_slug: agent, action: "Paid", inputs_hash: "abc", ...more });
  await attest({ client: { instance: "a", sequence: 1 } });
  await attest({ is_public: false, client: { instance: "a", sequence: 3 } });
  const taken = await ask(test, key, { agent_slug: agent });
  await taken.approve("ada");
  await post(`/v1/authorizations/${taken.made.request_id}/revoke`, { reason: "Wrong account" });
  await (await ask(test, key, { agent_slug: agent, action: "Pay too much" })).deny("too much");
  await post(`/v1/identity/${agent}/freeze`, { reason: "It paid twice" });
  await attest({ human_approved: true, human_approver_hash: "sha256:boss" });
  await post(`/v1/identity/${agent}/unfreeze`, {});
  const context = { payee: "Example Ltd", iban: "DE02 1203 0000" };
  const asked = await ask(test, key, { agent_slug: other, context, details: { complete: true } });
  await asked.approve("ada");
  const { human_authorization } = (await asked.read(key)).body;
  await attest({ agent_slug: other, action: human_authorization.request.action, human_authorization });
  const dayMs = 86_400_000;
  const period = {
    from: new Date(Date.now() - dayMs).toISOString(),
    to: new Date(Date.now() + dayMs).toISOString(),
  };
  const packs: Uint8Array[] = [];
  for (const [agentSlugs, withPrivate, opening] of [
    [[agent], true],
    [[], true, "payee"],
    [[agent], false],
    [[other], true, "all"],
  ] as const) {
    const request = { agentSlugs: [...agentSlugs], period, withPrivate, ...(opening && { opening }) };
    packs.push(await collect((await makeEvidencePack(test.app.context, person, request)).parts));
  }
  return packs;
}

/** A change of a file, with a manifest and a report that follow from it, or of the archive's bytes. */
async function changePack(bytes: Uint8Array, others: unknown[], random: Random): Promise<Uint8Array> {
  if (random(10) === 0) {
    const { files } = await readZip(toByteSource(bytes), nodeIo.zip, {
      maxFileBytes: 2 ** 30,
      maxBytes: 2 ** 30,
    });
    const any = random(bytes.length);
    const header = (files[any % files.length]?.offset ?? 0) + (any % 30);
    const at = [any, header, bytes.length - 1 - (any % (files.length * 60))][any % 3];
    return bytes.map((byte, i) => (i === at ? byte ^ (1 << random(8)) : byte));
  }
  const files = unpack(bytes);
  const names = [...files.keys()].filter((name) => !/^(?:report|requirements|verify)/.test(name));
  const name = names[random(names.length)] ?? "";
  const file = files.get(name) ?? new Uint8Array();
  const kind = random(12);
  if (kind === 0) files.delete(name);
  else if (kind === 1) files.set(name, files.get(names[random(names.length)] ?? "") ?? file);
  else if (name === packFiles.rows)
    files.set(
      name,
      file.map((byte, i) => (i === 40 ? byte ^ 1 : byte)),
    );
  else {
    const changed = mutate(parse(files, name), others, random);
    files.set(name, typeof changed === "string" ? utf8Encode(changed) : encodePackJson(changed));
  }
  // Files that no report can be made of are sent with the old one.
  return random(8) === 0 ? pack(files) : forge(files, true).catch(() => pack(files));
}

/** Asks for other groups in a request that was denied. */
function denyFor(files: PackedFiles, required_approvers: unknown): Promise<Uint8Array> {
  const [name, denied] = [...files.keys()]
    .filter((one) => one.startsWith("decisions/"))
    .map((one) => [one, parse(files, one)] as const)
    .find(([one, json]) => readPackEntry(one, json).decision === "denied") ?? ["", {}];
  const request = { ...denied["request"], required_approvers };
  return pack(new Map([...files, [name, encodePackJson({ ...denied, request })]]));
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

/** `ms`: of a time, else of any other; `iso`: as it is written. */
const timeCase = (text: string, ms: number) => {
  const ok = isTime(text);
  const own = ok ? Date.parse(text) : ms;
  return { kind: "time", name: text, text, ok, ms: own, iso: new Date(own).toISOString() };
};

function judgeTimes(): Case[] {
  const random = createRandom(seed + 7);
  const digits = (end: number, size = 2) => String(random(end)).padStart(size, "0");
  const any = Array.from({ length: 2_000 }, () => {
    const date = `${digits(10_000, 4)}-${digits(14)}-${digits(33)}`;
    return `${date}T${digits(25)}:${digits(61)}:${digits(61)}.${digits(1_000, 3)}Z`;
  });
  const odd = [
    ...["0000-01-01T00:00:00.000Z", "0000-02-29T12:00:00.001Z", "9999-12-31T23:59:59.999Z"],
    ...["1900-02-29T00:00:00.000Z", "2000-02-29T00:00:00.000Z", "2026-11-30T12:00:00Z", "2026-11-30"],
    ...["\u0662026-11-30T12:00:00.000Z", "2026-11-30T12:00:00.000Z\n", "+010000-01-01T00:00:00.000Z"],
  ];
  return [...odd, ...any].map((text) => timeCase(text, random(2 ** 32) * 100_000 - 10 ** 14));
}

describe.skipIf(python.missing)("both verifiers (run by npm run test:python)", () => {
  const { test } = setupTestApp();
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

  it("agree on a keys file with a damaged field", async () => {
    const { answer, keys: whole } = await makeDecidedReceipt({});
    const keys = whole as { log: object };
    const zk = { keys: [{ key_id: "z", status: "active", public_key: "not base64url!" }] };
    const log = { ...keys.log, time_authorities: ["a PEM", null] };
    const cases = [
      await judge("of BBS", answer, { ...keys, zk }),
      await judge("of a time-stamp authority", answer, { ...keys, log }),
    ];
    expect(cases.map(({ verdict }) => verdict)).toEqual(["refused", "refused"]);
    const served = (await test.call("GET", "/v1/pubkey")).body;
    const all = { ...served, ...keys, log: { ...served.log, ...keys.log } };
    const random = createRandom(seed + 8);
    const paths = listPaths(all);
    while (cases.length < 200) {
      const at = paths[random(paths.length)] ?? [];
      const damaged = change(all, at, (parent: Record<string | number, unknown>, name) => {
        parent[name] = otherThan(parent[name], random);
      });
      cases.push(await judge(`${at.join(".")} of it`, answer, damaged));
    }
    expect((await agree(cases))["receipt"]).toBe(cases.length);
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
    expect(cases.map((one) => one["verdict"] === "valid")).toEqual(cases.map((_, at) => at < 17));
    const warned = cases.map(({ warnings }) => JSON.stringify(warnings).includes("reported_by_trace"));
    // Recorded calls come by threes, the second of each from a trace.
    expect(warned).toEqual(cases.map((_, at) => at === 2 || at === 3 || (at < 16 && at > 3 && at % 3 === 2)));
    expect(cases.filter(({ facts }) => JSON.stringify(facts).includes("git push"))).toHaveLength(4);
    expect((await agree(cases))["receipt"]).toBe(cases.length);
  });

  it("pass the conformance suite, this one but for pairings and reports", async () => {
    const runner = path.resolve("public/vectors/conformance/conformance.mjs");
    const skipped = ["--without", "pairing", "--without", "report"];
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

  it("agree on chains of authority, and end alike", async () => {
    const cases = await judgeChains(test);
    expect((await agree(cases))["chain"]).toBe(cases.length);
    const [{ receipts, keys: known } = {}] = cases as { receipts?: string[]; keys?: string[] }[];
    const write = (name: string, text: unknown) => {
      writeFileSync(path.join(folder, name), String(text));
      return name;
    };
    const [third = "", ...rest] = (receipts ?? []).map((text, i) => write(`${i}.json`, text));
    const keys = (known ?? []).flatMap((text, i) => ["--keys", write(`keys-${i}.json`, text)]);
    const followed = await runCommand("chain", third, ...rest, ...keys);
    expect([followed.code, followed.out]).toEqual([0, expect.stringContaining("by authority of chained (")]);
    expect((await runCommand("chain", third, ...keys)).code).toBe(3);
    expect((await runCommand("chain", third)).code).toBe(2);
  });

  it("agree on packs of the service and on changes of them, and end alike", async () => {
    const packs = await makeServicePacks(test);
    const keys = (await test.call("GET", "/v1/pubkey")).body;
    const cases = await Promise.all(
      packs.map((bytes, i) => judgePack(`pack ${i}`, bytes, i > 1 ? keys : null)),
    );
    expect(cases.map(({ verdict }) => verdict)).toEqual(Array(4).fill("incomplete"));
    const others = packs.flatMap((bytes) =>
      [...unpack(bytes)].flatMap(([name]) => (name.endsWith(".json") ? [parse(unpack(bytes), name)] : [])),
    );
    const random = createRandom(seed + 5);
    while (cases.length < 300) {
      const bytes = await changePack(packs[random(packs.length)] ?? new Uint8Array(), others, random);
      cases.push(await judgePack(`changed ${cases.length}`, bytes, null, true));
    }
    const files = unpack(packs[0] ?? new Uint8Array());
    const page = files.get(numberedFile("record", 1)) ?? new Uint8Array();
    for (const [name, made] of [
      ["a name longer than any of ours", await pack(new Map([...files, ["x".repeat(129), page]]))],
      ["a page too many", await forge(new Map([...files, [numberedFile("record", 999), page]]), true)],
    ] as const)
      cases.push(await judgePack(name, made, null, true));
    for (const required_approvers of [null, {}, ["finance"], [null], [{}], [{ group: 1 }]])
      cases.push(
        await judgePack("groups that are none", await denyFor(files, required_approvers), null, true),
      );
    expect((await agree(cases))["pack"]).toBe(cases.length);
    const found = new Set(cases.flatMap(failuresOf).map((one) => one.split(" ").slice(0, -1).join(" ")));
    for (const name of [
      "archive",
      "files",
      "attestations",
      "decisions",
      "record files",
      "log",
      "manifest",
      "period",
    ])
      expect(found).toContain(name);

    const [one = new Uint8Array()] = packs;
    writeFileSync(path.join(folder, "pack.zip"), one);
    writeFileSync(path.join(folder, "keys.json"), JSON.stringify(keys));
    const whole = await runCommand("pack", "pack.zip", "--keys", "keys.json");
    expect([whole.code, whole.out]).toEqual([3, expect.stringMatching(/^ {2}not checked {2}report /m)]);
    expect(whole.out).toMatch(/^Not checked: pairings, report, verifier\.$/m);
    expect((await runCommand("pack", "pack.zip", "--fail-on-warnings")).code).toBe(4);
    writeFileSync(path.join(folder, "pack.zip"), one.subarray(1));
    expect((await runCommand("pack", "pack.zip")).code).toBe(1);
    expect((await runCommand("pack", "none.zip")).code).toBe(2);
  });

  it("agree on packs that a lying service signs: freezes, own numbers, standing approvals, cancellations", async () => {
    const random = createRandom(seed + 3);
    const cases: Case[] = [];
    for (let n = 0; n < 72; n += 1) cases.push(await judgePack(`signed ${n}`, await makeRandomPack(random)));
    expect((await agree(cases))["pack"]).toBe(cases.length);
    const found = new Set(cases.flatMap(failuresOf).map((one) => one.split(" ")[0]));
    for (const name of ["uses", "verdicts", "grounds", "attention", "period"]) expect(found).toContain(name);
    expect(new Set(cases.map(({ verdict }) => verdict)).size).toBe(2);
  });

  type Told = [
    what: string,
    failed: string[],
    tell: (made: ReturnType<typeof createSignedLog>) => Promise<void>,
  ];
  const grant = approveByPeople(1, 0, { grant: signedTerms });
  const use = approveByGrant(grant, 2, 10, {});
  const revokeAndAttest = async (made: ReturnType<typeof createSignedLog>, claimed_at?: string) => {
    await made.decide("approved", 10, { approval: use });
    await made.change("authorization_revoked", 20, grant.request);
    const stop = { reason: "grant_revoked" as const, claimed_at: claimed_at ?? "" };
    await made.attest(30, {
      approval: use,
      said: claimed_at === undefined ? {} : { approval_stopped: stop },
    });
  };
  it.each<Told>([
    ["attested after its revocation and claimed before", [], (made) => revokeAndAttest(made, timeAt(15))],
    ["claimed after its revocation", ["uses claimed_late"], (made) => revokeAndAttest(made, timeAt(25))],
    ["of 1.0.0, which doesn't say when it was claimed", [], (made) => revokeAndAttest(made)],
    [
      "approved after its revocation",
      ["uses approval_taken_back"],
      async (made) => {
        await made.change("authorization_revoked", 5, grant.request);
        await made.decide("approved", 10, { approval: use });
      },
    ],
    [
      "counted twice",
      ["uses use_repeated"],
      async (made) => {
        await made.decide("approved", 10, { approval: use });
        await made.attest(11, { approval: use });
        await made.decide("approved", 12, { approval: approveByGrant(grant, 3, 12, {}) });
      },
    ],
    [
      "behind two attestations",
      ["uses approval_reused"],
      async (made) => {
        await made.decide("approved", 10, { approval: use });
        for (const second of [11, 12]) await made.attest(second, { approval: use });
      },
    ],
    [
      "above its limit",
      ["uses use_out_of_terms"],
      (made) => made.decide("approved", 10, { approval: approveByGrant(grant, 3, 10, { amount: "51" }) }),
    ],
    [
      "of which the one before is hidden",
      ["uses use_missing"],
      (made) =>
        made.decide("approved", 10, { approval: approveByGrant(grant, 3, 10, { use: 2, spent: "40" }) }),
    ],
  ])("agree on a use of a standing approval that is %s", async (name, failed, tell) => {
    const made = createSignedLog();
    await made.stateRoster();
    await made.decide("approved", 0, { approval: grant });
    await tell(made);
    const found = await judgePack(name, await made.pack());
    expect(failuresOf(found)).toEqual(failed);
    const warning = "number 4 was attested after number 3 took back its standing approval";
    expect(found["warnings"]).toEqual(failed.length > 0 ? [] : [warning]);
    expect((await agree([found]))["pack"]).toBe(1);
  });

  it("agree on planted requests in a pack: what was committed to, opened and counted", async () => {
    const before = "the log doesn't have the schedule H before it begins";
    const shape = "not schedules and openings";
    const after = "the log doesn't have an opening of H after it";
    const time = "an opening of H is of another time";
    const caught = (one: number, two: number) =>
      `finance caught ${one} of 3 planted requests; legal caught ${two} of 2 planted requests`;
    const late = (count: string) => `${count} not opened in time, and counts as missed`;
    const one = late("1 planted request of finance was");
    type Packed = ReturnType<typeof parse>;
    const ofFirst = (change: (first: Packed) => void): PlantedLie => ({
      documents: ([first]) => change(first as Packed),
    });
    const opening = (change: object, n = 0) => ofFirst(({ openings }) => Object.assign(openings[n], change));
    const entry = (change: object) => ofFirst(({ openings }) => Object.assign(openings[0].entry, change));
    const schedule = (change: object) => ofFirst((first) => Object.assign(first.schedule, change));
    const log = (change: (statements: Packed[]) => void): PlantedLie => ({
      log: change as PlantedLie["log"] & {},
    });
    const file = (change: (planted: Packed, files: PackedFiles) => void): PlantedLie => ({
      files: (files, planted) => change(planted, files),
    });
    const stated = (change: object, at = 0) => log((all) => Object.assign(all[at] ?? {}, change));
    const stateTwice = (change: object, isFirst: boolean) =>
      log((all) => all.splice(isFirst ? 1 : 2, 0, { ...all[1], ...change }));
    const tooLate = { at: "2026-11-22T00:00:00.001Z" };
    const approved = canonicalHash(approveByPeople(1, 0).request as unknown as JsonObject);
    const other = "0198c0de-0000-7000-8000-000000000009";
    const changeStatements = (change: (statements: Packed[]) => void) =>
      file((_, files) => {
        const page = parse(files, numberedFile("statements", 1));
        change(page.statements);
        files.set(numberedFile("statements", 1), encodePackJson(page));
      });

    const lies: [lie: string, said: string, PlantedLie, warnings?: string[]][] = [
      ["none", caught(1, 1), {}, [one]],
      ["none of the period", "no schedule ends in the period", { documents: (all) => all.splice(0) }, []],
      [
        "two of a group",
        "legal caught 2 of 5 planted requests",
        schedule({ group: groupId(1) }),
        [late("1 planted request of legal was")],
      ],
      [
        "opened too late",
        caught(0, 1),
        stated(tooLate, 1),
        ["2 planted requests of finance were not opened in time, and count as missed"],
      ],
      ["opened in the last moment", caught(1, 1), stated({ at: signedPeriod.to }, 1), [one]],
      [
        "opened too late, and again",
        caught(0, 1),
        stateTwice(tooLate, true),
        ["2 planted requests of finance were not opened in time, and count as missed"],
      ],
      ["opened in time, and again", caught(1, 1), stateTwice(tooLate, false), [one]],
      [
        "opened late for another schedule too",
        caught(1, 1),
        stateTwice({ ...tooLate, schedule: "ab".repeat(32) }, true),
        [one],
      ],
      [
        "opened late by another too",
        caught(1, 1),
        stateTwice({ ...tooLate, organization: "ab".repeat(32) }, true),
        [one],
      ],
      [
        "another's schedule",
        caught(1, 1),
        log((all) => all.push({ ...all[0], digest: "ab".repeat(32), organization: "cd".repeat(32) })),
        [one],
      ],
      [
        "a schedule of a later period",
        caught(1, 1),
        log((all) => all.push({ ...all[0], digest: "ab".repeat(32), until: "2026-11-22T00:00:00.001Z" })),
        [one],
      ],
      [
        "a schedule of the period before",
        caught(1, 1),
        log((all) => all.push({ ...all[0], digest: "ab".repeat(32), until: signedPeriod.from })),
        [one],
      ],
      [
        "schedules that may not have ended when a pack without a count was made",
        "no schedule ends in the period",
        { ...file(({ schedules }) => schedules.splice(0)), isCounted: false },
        [],
      ],
      ["a schedule without a hash", caught(1, 1), log((all) => all.push({ ...all[0], digest: "ab" })), [one]],
      [
        "a schedule until no time",
        caught(1, 1),
        log((all) => all.push({ ...all[0], digest: "ab".repeat(32), until: "2026-11-21T12" })),
        [one],
      ],
      ["beside no approval", caught(1, 1), { hasNoApproval: true }, [one]],
      ["committed to as it begins", caught(1, 1), stated({ at: "2026-11-01T00:00:00.000Z" }), [one]],

      ["committed to after it begins", before, stated({ at: "2026-11-01T00:00:00.001Z" })],
      ["never committed to", before, log((all) => all.shift())],
      ["committed to by another", before, stated({ organization: "ab".repeat(32) })],
      ["committed to with another end", before, stated({ until: "2026-11-21T23:00:00.000Z" })],
      [
        "committed to by an opening",
        before,
        stated({ kind: "opening", schedule: "ab".repeat(32), until: undefined }),
      ],
      ["committed to as something else", before, stated({ kind: "promise" })],
      ["committed to with another field", before, stated({ promise: true })],
      ["committed to at no time", before, stated({ at: "2026-10-31" })],
      ["committed to without an end", before, stated({ until: "later" })],
      ["committed to by a key without a name", before, stated({ key_id: 1 })],
      ["committed to by nobody", before, stated({ organization: "AB".repeat(32) })],
      [
        "committed to under another name",
        before,
        { statement: ({ subject }) => Object.assign(subject[0], { name: "planted" }) },
      ],
      ["committed to among others", before, { statement: ({ subject }) => subject.push(subject[0]) }],
      [
        "committed to by an untrusted key",
        before,
        changeStatements((all) => Object.assign(all[1] ?? {}, { key_id: "other" })),
      ],
      [
        "committed to without a signature",
        before,
        changeStatements((all) => Object.assign(all[1] ?? {}, { signature: all[2]?.signature })),
      ],
      [
        "unreadable statements",
        "the service's own statements can't be read",
        changeStatements((all) => Object.assign(all[1] ?? {}, { number: 3 })),
      ],
      ["the file is left out", "the schedule H is missing", { isLeftOut: true }],
      [
        "left out of a pack without a count, whose log knows of a time after its end",
        "the schedule H is missing",
        { ...stated({ at: signedPeriod.to }, 1), isCounted: false, isLeftOut: true },
      ],
      ["a schedule is left out", "the schedule H is missing", file(({ schedules }) => schedules.shift())],
      [
        "a schedule is there twice",
        "a schedule is there twice",
        file(({ schedules }) => schedules.push(schedules[0])),
      ],
      [
        "it ends after the period",
        "the schedule H doesn't end in the period",
        schedule({ until: "2026-11-22T00:00:00.001Z" }),
      ],
      [
        "it ends before the period",
        "the schedule H doesn't end in the period",
        schedule({ until: signedPeriod.from }),
      ],
      [
        "an opening is left out",
        "an opening of H is missing",
        file(({ schedules }) => schedules[0].openings.pop()),
      ],
      [
        "an opening is changed",
        "an opening of H is missing",
        file(({ schedules }) => Object.assign(schedules[0].openings[1], { outcome: "denied" })),
      ],
      [
        "an entry is opened twice",
        "an entry of H is opened twice",
        ofFirst(({ openings }) => openings.push({ ...openings[1], outcome: "denied" })),
      ],
      ["an opening isn't in the log", after, log((all) => all.splice(1, 1))],
      ["an opening is before its schedule", after, log((all) => all.unshift(...all.splice(1, 1)))],
      ["an opening is logged as another schedule's", after, stated({ schedule: "ab".repeat(32) }, 1)],
      [
        "an opening is logged as a schedule",
        after,
        stated({ kind: "schedule", until: signedPeriod.from, schedule: undefined }, 1),
      ],
      ["an opening is logged as something else", after, stated({ kind: "promise" }, 1)],
      ["an opening is logged by another", after, stated({ organization: "ab".repeat(32) }, 1)],
      ["an opening is of another schedule", after, opening({ schedule: "ab".repeat(32) })],
      [
        "an opening is of what wasn't committed to",
        "an opening is of nothing that H commits to",
        entry({ request_id: "areq_easy" }),
      ],
      [
        "an opening is of the other group's",
        "an opening is of nothing that H commits to",
        opening({ entry: plantedEntry(3) }),
      ],
      ["it was to be shown before", time, schedule({ from: "2026-11-01T09:00:00.001Z" })],
      [
        "it was to be shown after",
        time,
        ofFirst((first) => {
          Object.assign(first.openings[0].entry, tooLate);
          first.openings[0].ended_at = tooLate.at;
          Object.assign(first.schedule, {
            entries: [1, 2].map(plantedEntryHash).concat(canonicalHash(first.openings[0].entry)).sort(),
          });
        }),
      ],
      ["it ended before it was shown", time, opening({ ended_at: "2026-11-01T08:59:59.999Z" })],
      ["it was approved", "a planted request was approved", opening({ request_hash: approved })],
      [
        "they are another's",
        "they are of another organization than the approvals",
        file((planted) => Object.assign(planted, { organization: other, schedules: [] })),
      ],
      ["said to be another's", shape, file((planted) => Object.assign(planted, { organization: other }))],

      ["of version true", shape, file((planted) => Object.assign(planted, { version: true }))],
      ["with another field", shape, file((planted) => Object.assign(planted, { note: "" }))],
      ["without schedules", shape, file((planted) => Object.assign(planted, { schedules: {} }))],
      [
        "of no organization",
        shape,
        file((planted) => Object.assign(planted, { organization: "mine", schedules: [] })),
      ],
      ["a name is a number", shape, file(({ schedules }) => Object.assign(schedules[0], { name: 1 }))],
      ["openings are none", shape, file(({ schedules }) => Object.assign(schedules[0], { openings: {} }))],
      ["a schedule of version 2", shape, schedule({ version: 2 })],
      ["a group without an id", shape, schedule({ group: "finance" })],
      ["a schedule ends as it begins", shape, schedule({ from: signedPeriod.to })],
      ["a schedule begins at no time", shape, schedule({ from: "2026-11-01" })],
      ["a schedule ends at no time", shape, schedule({ until: "2026-11-31T00:00:00.000Z" })],
      ["a schedule of nothing", shape, schedule({ entries: [] })],
      ["an entry without a hash", shape, schedule({ entries: ["ab"] })],
      ["entries that fall", shape, ofFirst((first) => first.schedule.entries.reverse())],
      ["an entry counts twice", shape, ofFirst(({ schedule: { entries } }) => entries.push(entries.at(-1)))],
      ["an opening of version 2", shape, opening({ version: 2 })],
      ["an opening of no schedule", shape, opening({ schedule: "ab" })],
      ["an opening without a hash", shape, opening({ request_hash: null })],
      ["an opening with a short hash", shape, opening({ request_hash: "ab" })],
      ["an unknown outcome", shape, opening({ outcome: "seen" })],
      ["a list as outcome", shape, opening({ outcome: ["denied"] })],
      ["an end at no time", shape, opening({ ended_at: "2026-11-10" })],
      ["an entry without an id", shape, entry({ request_id: 1 })],
      ["an entry at no time", shape, entry({ at: "soon" })],
      ["a list as fact", shape, entry({ fact: ["payee"] })],
      ["a short salt", shape, entry({ salt: "AAAA" })],
      ["an entry with another field", shape, entry({ version: 1 })],
    ];
    const cases: Case[] = [];
    for (const [lie, said, change, warnings] of lies) {
      const found = await judgePack(lie, await makePlantedPack(change));
      const check = (found["checks"] as Packed[]).find(({ name }) => name === "planted requests");
      const words = String(check?.detail)
        .replace(/^planted\.json: /, "")
        .replace(/[0-9a-f]{64}/, "H");
      expect([lie, check?.status, words]).toEqual([lie, warnings ? "pass" : "fail", said]);
      if (warnings) expect([lie, found["warnings"]]).toEqual([lie, warnings]);
      cases.push(found);
    }
    const honest = await makePlantedPack({});
    const random = createRandom(seed + 6);
    for (let n = 0; n < 60; n += 1) {
      const files = unpack(honest);
      const changed = mutate(parse(files, packFiles.planted), [{}], random);
      files.set(
        packFiles.planted,
        typeof changed === "string" ? utf8Encode(changed) : encodePackJson(changed),
      );
      cases.push(await judgePack(`planted ${n}`, await forge(files, true).catch(() => pack(files))));
    }
    expect((await agree(cases))["pack"]).toBe(cases.length);
  });

  it("agree on derivations of suggested rules in a pack", async () => {
    const random = createRandom(seed + 4);
    const cases: Case[] = [];
    for (let n = 0; n < 72; n += 1)
      cases.push(await judgePack(`derived ${n}`, await makeDerivedPack(n, random)));
    const checks = cases.map(({ checks: all }) =>
      (all as { name: string; status: string; detail: string }[]).find(({ name }) => name === "derivations"),
    );
    const said = checks.map((check) => `${check?.status} ${check?.detail}`).join("\n");
    for (const words of ["pass", "isn't in these rules", "is wider", "too few", "no such derivation"])
      expect(said).toContain(words);
    for (const words of ["are others than those", "was derived from is not", "suggestions, each"])
      expect(said).toContain(words);
    for (const what of ["details", "hours"])
      expect(JSON.stringify(cases)).toContain(`the standing approval that covers it: ${what}`);
    expect(said).toContain("what was refused");
    expect(said).toContain("content is not in this pack");
    expect((await agree(cases))["pack"]).toBe(cases.length);
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

  it("agree on which texts are times, and on those of every year", async () => {
    expect((await agree(judgeTimes()))["time"]).toBeGreaterThan(2_000);
  });

  it("agree on which texts are JSON, and on its canonical form", async () => {
    expect((await agree(judgeTexts()))["json"]).toBeGreaterThan(4_000);
  });
});
