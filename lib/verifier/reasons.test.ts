/** Each reason is what some check reports: golden receipts and test authorizations, changed in one place. */

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import {
  type Approval,
  assembleAuthorization,
  type HumanAuthorization,
} from "#lib/protocol/approval/approval";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Outcome } from "#lib/protocol/statement/outcome";
import { explain, type Reason, reasonCodes } from "#lib/protocol/statement/reasons";
import { makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { encodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { parseTilePath } from "#lib/protocol/tlog/tiles";
import { type WorldChainCall, WorldChainError } from "#lib/protocol/world-id/world-chain-calls";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { addAnchorCheck } from "#lib/verifier/checks/check-anchors";
import { checkWholeLog } from "#lib/verifier/checks/check-log";
import { checkPayloadBinding } from "#lib/verifier/checks/presentation-verify";
import type { Expectation } from "#lib/verifier/checks/verify-evidence";
import { verifyHumanAuthorization } from "#lib/verifier/checks/verify-human-authorization";
import { callNode } from "#lib/verifier/cli/io";
import type { VerifierReport } from "#lib/verifier/report/report";
import { makeEnrolledAuthorization } from "#support/enrolled-approvals";
import { makeTestAuthorization, testVerifyOptions } from "#support/human-authorization";
import { ENTRIES, flipBit, grownTo } from "#support/tiles";
import { contracts, registry, stubNode, v4Contracts } from "#support/world-chain";
import { verifyInBrowser } from "./browser";

// biome-ignore lint/suspicious/noExplicitAny: receipts as they come, to be broken in every way
type Json = any;
type Named = Outcome<"fail" | "not_applicable" | "not_run"> & { name: string };
type Checks = readonly Named[] | Promise<readonly Named[]>;

const read = (file: string): string => readFileSync(path.resolve("public/vectors/1.0.0", file), "utf8");
const golden = (name: string): Json => JSON.parse(read(`${name}.json`));
const keys = golden("keys");
/** A minute after they were made. */
const nowSeconds: number = JSON.parse(atob(golden("presentation").presentation_header)).iat + 60;
const now: Expectation = { nowSeconds };

async function verify(
  input: Json,
  expected: Expectation = now,
  trust: Json = keys,
): Promise<readonly Named[]> {
  return (await verifyInBrowser(input, trust, expected)).checks;
}

/** A golden receipt, changed. */
const change = (name: string, changes: Json, expected?: Expectation, trust?: Json) =>
  verify({ ...golden(name), ...changes }, expected, trust);

const inLog = (changes: Json, name = "plain") => change(name, { log: { ...golden(name).log, ...changes } });

function inPayload(name: string, from: string, to: string) {
  const { payload } = golden(name);
  expect(payload).toContain(from);
  return change(name, { payload: payload.replace(from, to) });
}

const place = { agent_id: "019a0000-0000-7000-8000-000000000001", previous: "0".repeat(64), sequence: 1 };

function inEntry(edit: (entry: Json) => void) {
  const entry = JSON.parse(atob(golden("plain").log.entry));
  edit(entry);
  return inLog({ entry: btoa(JSON.stringify(entry)) });
}

function withoutField(name: string, field: string) {
  const { [field]: _left, ...rest } = golden(name);
  return verify(rest);
}

const presentation = (changes: Json, expected?: Expectation) => change("presentation", changes, expected);

/** Presents it about message `to` instead of `from`. */
function renumber(from: string, to: string) {
  const { [from]: text, ...rest } = golden("presentation").disclosed;
  return presentation({ disclosed: { ...rest, [to]: text } });
}

const keysWith = (edit: (trust: Json) => void) => {
  const trust = structuredClone(keys);
  edit(trust);
  return trust;
};
const movedKeys = keysWith((trust) => {
  for (const key of trust.keys) Object.assign(key, { valid_from_index: 1000, valid_to_index: 1001 });
});
const revokedZkKeys = keysWith((trust) => {
  for (const key of trust.zk.keys) key.status = "revoked";
});

const byWorldId = makeTestAuthorization();
const byPasskey = makeEnrolledAuthorization();

/** The test authorization of two World ID 4.0 approvals; no check depends on the signature over it. */
function approvals(edit: (authorization: HumanAuthorization) => void, options = testVerifyOptions): Checks {
  const authorization = structuredClone(byWorldId);
  edit(authorization);
  return verifyHumanAuthorization(authorization, options).checks;
}

function enrolled(edit: (authorization: HumanAuthorization) => void): Checks {
  const authorization = structuredClone(byPasskey);
  edit(authorization);
  return verifyHumanAuthorization(authorization, testVerifyOptions).checks;
}

const second = (changes: Json) =>
  approvals(({ approvals: all }) => Object.assign(all[1] as Approval, changes));

const { v4Key: _v4Key, ...withoutV4Key } = testVerifyOptions;

/** One approval that names a block, and what a node says about it. */
async function anchored(changes: Json, call: WorldChainCall): Promise<readonly Named[]> {
  const anchor = {
    chain_id: 480,
    block_number: 16,
    block_hash: wordHex(77n),
    registry,
    root: wordHex(1000n),
    issuer_public_key: [wordHex(3n), wordHex(4n)],
    oprf_public_key: [wordHex(5n), wordHex(6n)],
  };
  const approval = { ...byWorldId.approvals[0], merkle_root: wordHex(1000n), anchor, ...changes };
  const object = assembleAuthorization({ ...byWorldId, approvals: [approval] }, byWorldId.signature);
  const report = { checks: [], missing: [] } as unknown as VerifierReport;
  const evidence = { kind: "human_authorization", object: object as unknown as JsonObject } as const;
  return (await addAnchorCheck(report, evidence, call)).checks;
}

const node = callNode({ fetch: stubNode({ ...contracts, ...v4Contracts }).send }, "http://rpc.test");

const logSecret = new Uint8Array(32).fill(5);
const keyOf = (origin: string) => makeVerifierKey(origin, 1, ed25519.getPublicKey(logSecret));
const logSize = 300;
const tree = grownTo(logSize);

interface LogChange {
  /** Root of the served checkpoint. */
  root?: Uint8Array;
  remembered?: { origin?: string; size: number; root?: Uint8Array } | string;
  isWhole?: boolean;
  tile?: (name: string, bytes: Uint8Array) => Uint8Array | undefined;
  entries?: readonly Uint8Array[];
}

const signLog = (origin: string, size: number, root: Uint8Array) =>
  signCheckpoint({ origin, size, root }, keyOf(origin), (bytes) => ed25519.sign(bytes, logSecret));

async function followLog(edit: LogChange): Promise<readonly Named[]> {
  const { root = tree.edge.root, remembered = null, tile = (_, bytes) => bytes, entries = ENTRIES } = edit;
  const readFile = async (file: string) => {
    const at = parseTilePath(file);
    if (at === undefined) return undefined;
    const start = at.index * 256;
    if (at.level === "entries") return encodeEntryBundle(entries.slice(start, start + at.width));
    const name = `${at.level}/${at.index}`;
    const bytes = tree.rows.get(name)?.slice(0, at.width * 32);
    return bytes && tile(name, bytes);
  };
  const seen =
    typeof remembered === "string" || remembered === null
      ? remembered
      : await signLog(remembered.origin ?? "log.test", remembered.size, remembered.root ?? tree.edge.root);
  const trust = {
    keys: [],
    logKeys: [keyOf("log.test"), keyOf("other.test")],
    zkKeys: [],
    revokedZkKeys: [],
  };
  const source = { checkpoint: await signLog("log.test", logSize, root), readFile };
  return checkWholeLog(source, trust, { remembered: seen, isWhole: edit.isWhole ?? false });
}

/** lib/verifier/monitor/monitor.service.test.ts and its neighbours know these by their words. */
const inWords: readonly Reason[] = [
  "roster_changed",
  "roster_unexpected",
  "nothing_counted",
  "witness_saw_nothing",
  "snapshot_shrank",
  "statement_not_logged",
  "proof_unknown",
  "proof_unsigned",
  "proof_shows_nothing",
  "proof_is_testimony",
];

/**
 * Causes of reasons, and the check that says each. Others need a service, files, clocks, another implementation's vectors or a
 * rare approval: tests beside those checks name them.
 */
const ways: Partial<Record<Reason, [check: string, make: () => Checks]>> = {
  payload_private: ["signature", () => change("private", {})],
  payload_erased: ["signature", () => change("erased", {})],
  payload_lost: ["payload_hash", () => change("plain", { payload: null })],
  payload_not_erased: ["payload_hash", () => change("plain", { erased_at: "2026-11-21T09:15:28.669Z" })],
  nothing_to_compare: ["code_hash", () => change("plain", {})],
  not_requested: ["entries", () => followLog({})],
  earlier_check_failed: ["proof", () => presentation({ type: "x" })],

  payload_hash_mismatch: ["payload_hash", () => change("plain", { payload: "{}" })],
  statement_malformed: [
    "payload_hash",
    () => change("plain", { payload: "{}", payload_hash: hexEncode(sha256(utf8Encode("{}"))) }),
  ],
  attestation_mismatch: [
    "payload_hash",
    () => change("plain", { attestation_id: golden("private").attestation_id }),
  ],
  agent_mismatch: ["payload_hash", () => change("plain", { agent_slug: "other-bot" })],
  key_mismatch: ["payload_hash", () => change("plain", { key_id: keys.key_id })],
  visibility_mismatch: ["payload_hash", () => change("plain", { is_public: false })],
  key_unknown: ["signature", () => change("plain", { key_id: "0000000000000000" })],
  key_id_mismatch: ["pinned_key", () => presentation({ public_key: "x" })],
  key_out_of_range: ["key_validity", () => change("plain", {}, now, movedKeys)],
  signature_invalid: ["signature", () => change("plain", { signature: golden("private").signature })],
  envelope_signature_invalid: [
    "signature",
    () => change("plain", { envelope_signature: golden("private").envelope_signature }),
  ],
  verdict_mismatch: [
    "code_hash",
    () => inPayload("plain", '"code_hash_verified":null', '"code_hash_verified":true'),
  ],
  tool_manifest_absent: ["tools", () => withoutField("human-approved", "tool_manifest")],

  checkpoint_malformed: ["checkpoint_signature", () => inLog({ checkpoint: "x" })],
  checkpoint_of_another_log: [
    "checkpoint_signature",
    () => inLog({ checkpoint: golden("plain").log.checkpoint.replace("localhost", "elsewhere") }),
  ],
  checkpoint_signature_invalid: [
    "checkpoint_signature",
    () => inLog({ checkpoint: golden("plain").log.checkpoint.replace(/\n\d+\n/, "\n5\n") }),
  ],
  checkpoint_mismatch: ["log_inclusion", () => inLog({ tree_size: 8 })],
  entry_absent: ["logged_decision", () => withoutField("human-authorization", "log")],
  entry_malformed: ["log_inclusion", () => inLog({ entry: "e30=" })],
  entry_payload_mismatch: ["log_inclusion", () => inLog({ entry: golden("private").log.entry })],
  entry_signature_mismatch: [
    "log_inclusion",
    () => inEntry(({ spec }) => Object.assign(spec.signatures[0], { signature: golden("plain").signature })),
  ],
  entry_key_mismatch: [
    "log_inclusion",
    () => inEntry(({ spec }) => Object.assign(spec.signatures[0], { verifier: btoa(keys.public_key_pem) })),
  ],
  entry_key_unknown: ["entry_key", () => verify(read("receipt.tlog-proof"), now, movedKeys)],
  entry_envelope_mismatch: [
    "log_inclusion",
    () => inEntry(({ spec }) => Object.assign(spec.envelopeHash, { value: "0".repeat(64) })),
  ],
  entry_decision_mismatch: [
    "logged_decision",
    () => change("human-authorization", { log: golden("plain").log }),
  ],
  entry_missing: ["entries", () => followLog({ isWhole: true, entries: ENTRIES.slice(0, 299) })],
  inclusion_proof_invalid: ["log_inclusion", () => inLog({ inclusion_proof: [] })],
  key_retired_without_entry: ["decision_log", () => withoutField("human-authorization", "log")],
  nothing_remembered: ["consistency", () => followLog({})],
  remembered_checkpoint_invalid: ["consistency", () => followLog({ remembered: "x" })],
  another_log: ["consistency", () => followLog({ remembered: { origin: "other.test", size: 9 } })],
  log_shrunk: ["consistency", () => followLog({ remembered: { size: 301 } })],
  log_forked: ["consistency", () => followLog({ remembered: { size: 299 } })],
  log_unreadable: ["consistency", () => followLog({ remembered: { size: 299 }, tile: () => undefined })],
  tile_missing: ["entries", () => followLog({ isWhole: true, tile: () => undefined })],
  tile_too_short: ["entries", () => followLog({ isWhole: true, tile: (_, bytes) => bytes.slice(0, -32) })],
  tile_mismatch: ["entries", () => followLog({ isWhole: true, tile: (_, bytes) => flipBit(bytes) })],
  log_root_mismatch: ["entries", () => followLog({ isWhole: true, root: new Uint8Array(32) })],

  record_not_shown: ["record", () => change("plain", { record_neighbours: null })],
  record_mismatch: ["record", () => change("plain", { record: { ...place, sequence: 2 } })],
  approval_not_recorded: ["human_authorization", () => change("plain", {})],
  approval_asserted_only: ["human_authorization", () => change("hash-approved", {})],
  authorization_absent: ["human_authorization", () => withoutField("human-approved", "human_authorization")],
  authorization_missing: [
    "human_authorization",
    () => change("human-approved", { human_authorization: null }),
  ],
  authorization_unexpected: ["human_authorization", () => change("plain", { human_authorization: {} })],
  authorization_malformed: [
    "human_authorization",
    () => change("human-approved", { human_authorization: {} }),
  ],
  authorization_mismatch: [
    "human_authorization",
    () =>
      change("human-approved", {
        human_authorization: { ...golden("human-authorization"), approved_at: "" },
      }),
  ],
  binding_mismatch: ["request_hash", () => approvals(({ request }) => (request.action = "Pay more"))],
  shown_content_absent: ["shown_content", () => approvals(() => {})],
  shown_content_mismatch: [
    "shown_content",
    () => verify({ request_id: "areq", context: {}, human_authorization: golden("human-authorization") }),
  ],
  not_amended: ["amendment", () => enrolled(() => {})],
  no_passkey: ["passkeys", () => approvals(() => {})],
  no_group_required: ["quorum", () => approvals(() => {})],
  level_not_required: ["level", () => enrolled(() => {})],
  no_world_id: ["proofs", () => enrolled(() => {})],
  versions_mixed: ["distinct_humans", () => second({ protocol_version: "3.0", proof: "0x" })],
  environments_mixed: ["environment", () => second({ environment: "staging" })],
  not_in_time: ["times", () => second({ verified_at: "2026-11-21T07:59:59.999Z" })],
  credential_expired: ["times", () => second({ expires_at_min: 0 })],
  checked_by_world_only: ["proofs", () => approvals(() => {}, withoutV4Key)],
  anchor_absent: ["anchors", () => second({ anchor: undefined })],
  anchor_mismatch: ["anchors", () => second({ anchor: { root: wordHex(1n) } })],
  anchor_differs: [
    "anchors_on_chain",
    () => anchored({ merkle_root: wordHex(1000n), verified_at: "2026-11-21T08:05:00.000Z" }, otherBlock),
  ],
  not_on_chain: ["anchors_on_chain", () => anchored({ rp_id: "none" }, node)],
  chain_unreachable: ["anchors_on_chain", () => anchored({}, unreachable)],
  malformed_proof: ["proofs", () => second({ proof: ["x", "", "", "", wordHex(1234n)] })],
  nullifier_out_of_range: ["distinct_humans", () => second({ nullifier_hash: "x" })],
  root_mismatch: ["proofs", () => second({ merkle_root: wordHex(1n) })],
  wrong_issuer: ["proofs", () => second({ issuer_schema_id: 2 })],
  pairing_failed: ["proofs", () => second({ nonce: wordHex(1n) })],

  zk_proof_absent: ["zk_proof", () => withoutField("private-as-owner", "zk_proof")],
  zk_proof_missing: ["zk_proof", () => change("private-as-owner", { zk_proof: null })],
  zk_proof_not_shown: ["zk_proof", () => change("private", { zk_proof: null })],
  zk_not_enabled: ["zk_proof", () => change("plain", {})],
  zk_proof_unexpected: ["zk_proof", () => change("plain", { zk_proof: golden("private").zk_proof })],
  zk_proof_malformed: ["shape", () => presentation({ more: 1 })],
  zk_proof_invalid: [
    "proof",
    () => presentation({ disclosed: { 9: '["action","Paid"]', 18: '["human_approved",true]' } }),
  ],
  zk_suite_unknown: ["suite", () => presentation({ type: "x" })],
  zk_key_revoked: ["pinned_key", () => change("presentation", {}, now, revokedZkKeys)],
  zk_key_mismatch: ["zk_proof", () => inPayload("private-as-owner", keys.zk.kid, "another")],
  zk_header_mismatch: ["header", () => presentation({ header: "AAAA" })],
  presentation_header_malformed: ["header", () => presentation({ presentation_header: "AAAA" })],
  message_count_mismatch: ["length", () => presentation({ total_messages: 25 })],
  proof_length_mismatch: ["length", () => presentation({ proof: "AAAA" })],
  index_out_of_range: ["indexes", () => renumber("18", "24")],
  blinding_disclosed: ["indexes", () => renumber("18", "23")],
  public_messages_mismatch: [
    "indexes",
    () => presentation({ presentation_header: golden("private").zk_proof.presentation_header }),
  ],
  message_malformed: ["messages", () => renumber("18", "17")],
  audience_not_given: ["audience", () => presentation({})],
  audience_mismatch: ["audience", () => presentation({}, { ...now, audience: "shop" })],
  nonce_not_given: ["nonce", () => presentation({})],
  nonce_mismatch: ["nonce", () => presentation({}, { ...now, nonce: "n-2" })],
  attestation_not_given: ["attestation_id", () => presentation({})],
  payload_not_given: ["payload", () => presentation({})],
  payload_hash_not_disclosed: ["payload", () => presentation({}, { ...now, payload: new Uint8Array() })],
  payload_mismatch: ["payload", () => bindPayload("0".repeat(64))],
  never_expires: ["validity_period", () => verify(golden("private").zk_proof)],
  time_not_given: ["validity_period", () => presentation({}, {})],
  issued_in_future: ["validity_period", () => presentation({}, { nowSeconds: 1 })],
  expired: ["validity_period", () => presentation({}, { nowSeconds: 2_000_000_000 })],

  opening_without_approval: ["opening", () => change("plain", { opening: {} })],

  field_mismatch: ["restated_fields", () => change("plain", { action: "Paid more" })],
  field_unbacked: ["restated_fields", () => change("private", { action: "Paid" })],
  field_contradicted: ["restated_fields", () => inLog({ origin: "elsewhere" })],
  bundle_hint_mismatch: ["restated_fields", () => change("bundle", {}, { attestationId: "another" })],
  bundle_time_too_early: ["restated_fields", () => integratedAt("1")],
  bundle_time_in_future: ["restated_fields", () => integratedAt(String(nowSeconds), { nowSeconds: 1 })],
};

const unreachable: WorldChainCall = async () => {
  throw new WorldChainError("is out of reach");
};

/** The node knows the root in another block than the one that the approval names. */
const otherBlock: WorldChainCall = async (method, params) => {
  const answer = await node(method, params);
  return method === "eth_getBlockByNumber" ? { ...(answer as object), hash: wordHex(78n) } : answer;
};

function bindPayload(hash: string): readonly Named[] {
  const disclosed = [{ index: 5, name: "payload_hash" as const, value: hash }];
  const report = { ok: true, isKeyRevoked: false, checks: [], disclosed, presentationHeader: null };
  return [{ name: "payload", ...checkPayloadBinding(report, new Uint8Array()) }];
}

function integratedAt(seconds: string, expected?: Expectation) {
  const bundle = golden("bundle");
  bundle.verificationMaterial.tlogEntries[0].integratedTime = seconds;
  return verify(bundle, expected);
}

describe("the reason of a check that does not pass", () => {
  it.each(Object.entries(ways))("is %s", async (reason, [name, make]) => {
    const checks = await make();
    const check = checks.find((one) => one.name === name && one.status !== "pass");
    expect(check?.reason).toBe(reason);
    expect(check?.detail).not.toMatch(/\{|undefined/);
  });

  it("has a test for every code, and words without a gap", () => {
    const elsewhere = reasonCodes.filter((code) => !(code in ways) && !inWords.includes(code));
    const tests = ["lib", "e2e/support", "components"].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((file) => /\.test\.tsx?$|vectors\/.*\.json$/.test(file) || folder === "e2e/support")
        .filter((file) => /\.(?:tsx?|json)$/.test(file) && !file.endsWith("/reasons.test.ts"))
        .map((file) => readFileSync(path.join(folder, file), "utf8")),
    );
    expect(elsewhere.filter((code) => !tests.some((text) => text.match(`\\b${code}\\b`)))).toEqual([]);
    for (const code of reasonCodes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(explain("key_unknown", { key: "k" })).toBe("key k is not one of the service's keys");
  });
});
