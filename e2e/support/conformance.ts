/**
 * The conformance suite (public/vectors/conformance/), made in memory from fixed keys and the golden receipts, so that the
 * same files come out each time. What it expects is written here by hand: both verifiers are held to it.
 */
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { bindRequest, type HumanAuthorization, requestHash } from "#lib/protocol/approval/approval";
import {
  base64Decode,
  base64Encode,
  base64UrlEncode,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-manifest";
import { disclosureMessages } from "#lib/protocol/presentation/disclosure";
import { derivePresentation, signMessages } from "#lib/protocol/presentation/presentation";
import { emptyRecord, extendRecord } from "#lib/protocol/record/agent-record";
import { signEnvelope } from "#lib/protocol/statement/dsse";
import {
  type ActionPredicate,
  buildActionStatement,
  buildStatement,
  KEY_EVENT_PREDICATE,
} from "#lib/protocol/statement/statement";
import {
  encodeSubtreeLine,
  encodeVerifierKey,
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  signCheckpoint,
  subtreeMessage,
  type VerifierKey,
} from "#lib/protocol/tlog/checkpoint";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { inclusionRanges, leafHash, rootOfLeafHashes } from "#lib/protocol/tlog/merkle";
import { testKeyPair, testPayload } from "./disclosure";
import {
  enrolledRequest,
  listBadAmendments,
  listBadDeputies,
  listBadLists,
  makeAmendedAuthorization,
  makeDeputyAuthorization,
  makeEnrolledAuthorization,
  makeListedAuthorization,
  makeListOf,
  makeMlDsaAuthorization,
  otherHashes,
} from "./enrolled-approvals";
import { addTestLogEntry, signForTest, testKeyId } from "./human-authorization";
import { listOpenings } from "./openings";
import { forge, type Json, type PackedFiles, pack, unpack } from "./packs";

export const conformanceVersion = 1;
export const conformanceFolder = path.resolve("public/vectors/conformance");
const golden = "../1.0.0";

type Kind = "receipt" | "approval" | "presentation" | "record" | "pack";
/** Parts of a verifier that some don't have. */
type Part = "pairing" | "post_quantum" | "record" | "pack";

export interface ConformanceCase {
  name: string;
  kind: Kind;
  file: string;
  keys: string;
  /** Attestation keys that alone are trusted of those, with what they have signed for. */
  pinned?: string[];
  /** Receipts that somebody holds of a record. */
  receipts?: string[];
  audience?: string;
  nonce?: string;
  verdict: "valid" | "invalid" | "incomplete" | "erased" | "refused";
  /** One of the checks that fail. */
  failed?: string;
  /** Status of checks where the verdict doesn't show that they ran. */
  checks?: Record<string, "pass" | "not_applicable">;
  needs?: Part[];
}

const readGolden = (name: string) => readFileSync(path.resolve("public/vectors/1.0.0", name), "utf8");
const parseGolden = (name: string): Json => JSON.parse(readGolden(name));

const service = createLocalSigner(Buffer.alloc(32, 7).toString("base64"), "test");
const log = createLocalSigner(Buffer.alloc(32, 8).toString("base64"), "test");
const origin = "countersign.example/log";
const logKey = makeVerifierKey(origin, 1, log.publicKey);
const makeSecond = (name: string, fill: number) => {
  const { publicKey, secretKey } = ml_dsa44.keygen(new Uint8Array(32).fill(fill));
  return { ...makeVerifierKey(name, 6, publicKey), secretKey };
};
const secondKey = makeSecond(origin, 8);
const otherOrigin = "other.example/log";

/** The line that `key` signs for this tree, or as if it were of `claimed`. */
function makeSecondLine(note: string, key = secondKey, claimed: VerifierKey = key): string {
  const timeSeconds = 1_795_000_000;
  const message = subtreeMessage(claimed.name, timeSeconds, parseCheckpoint(parseNote(note).text));
  const signature = ml_dsa44.sign(message, key.secretKey, { extraEntropy: false });
  return encodeSubtreeLine(claimed, timeSeconds, signature);
}

function makeKeyEvent(purpose: string, publicKey: Uint8Array): JsonObject {
  const payload = buildStatement(KEY_EVENT_PREDICATE, "public-key", hexEncode(sha256(publicKey)), {
    ...{
      event: "made",
      purpose,
      key_id: hexEncode(sha256(publicKey)).slice(0, 16),
      public_key: base64Encode(publicKey),
    },
    ...{ at: "2026-11-21T08:00:00.000Z", signed_by: testKeyId },
  });
  const signature = base64Encode(service.sign(payload));
  return { event: "made", purpose, payload: new TextDecoder().decode(payload), signature };
}

const keys = {
  keys: [
    {
      ...{ key_id: testKeyId, public_key: base64Encode(service.publicKey), log_origin: origin },
      ...{ valid_from_index: 0, valid_to_index: null, status: "active" },
    },
  ],
  log: { origin, vkey: encodeVerifierKey(logKey), post_quantum_vkey: encodeVerifierKey(secondKey) },
  key_events: [makeKeyEvent("log", log.publicKey), makeKeyEvent("log_post_quantum", secondKey.publicKey)],
};

/** Presentation of a private attestation, with "random" numbers that are the same each time. */
async function makePresentation(): Promise<Json> {
  const keyPair = await testKeyPair();
  const credential = await signMessages(keyPair, disclosureMessages(testPayload(keyPair.publicKey)));
  let count = 0;
  const fixed = <Bytes extends ArrayBufferView | null>(bytes: Bytes): Bytes => {
    const view = bytes as Uint8Array;
    count += 1;
    for (let at = 0; at < view.length; at += 32)
      view.set(sha256(utf8Encode(`conformance ${count} ${at}`)).subarray(0, view.length - at), at);
    return bytes;
  };
  Object.defineProperty(webcrypto, "getRandomValues", { value: fixed, configurable: true });
  try {
    return await derivePresentation(credential, ["agent_slug", "human_approved"], {
      ...{ kind: "audience", audience: "https://bank.example", nonce: "n-1" },
      ...{ issuedAtSeconds: 1_795_000_000, expiresAtSeconds: 4_000_000_000 },
    });
  } finally {
    delete (webcrypto as { getRandomValues?: unknown }).getRandomValues;
  }
}

/** With a log entry of its own, in a log of one leaf. */
async function addLog(authorization: HumanAuthorization): Promise<JsonObject> {
  const { log: place, ...object } = addTestLogEntry(authorization) as unknown as Json;
  const root = leafHash(base64Decode(place.entry));
  const checkpoint = await signCheckpoint({ origin, size: 1, root }, logKey, (bytes) => log.sign(bytes));
  return { ...object, log: { origin, index: 0, tree_size: 1, inclusion_proof: [], checkpoint, ...place } };
}

const agent_id = "019a0000-0000-7000-8000-000000000003";
const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, "0")}`;

interface Entry {
  answer: Json;
  payloadHash: Uint8Array;
}

/** A log that one agent's attestations are all of; `lie`: what the service signs otherwise of the last. */
async function makeHistory(count: number, lie: Partial<ActionPredicate> = {}, said = 1): Promise<Entry[]> {
  const leaves: Uint8Array[] = [];
  const entries: Entry[] = [];
  let head = emptyRecord(agent_id);
  for (let i = 0; i < count; i += 1) {
    const isLast = i === count - 1;
    const timestamp = `2026-11-21T09:0${i}:00.000Z`;
    const action = isLast && said !== 1 ? "Sent another mail" : `Sent mail ${i + 1}`;
    const predicate: ActionPredicate = {
      ...{ attestation_id: idOf(10 * said + i), timestamp, key_id: testKeyId, organization: idOf(1) },
      ...{ is_public: true, salt: base64Encode(new Uint8Array(16).fill(i)) },
      record: { agent_id, sequence: i + 1, previous: hexEncode(head.link) },
      request: { agent_slug: "mail-bot", action, inputs_hash: `sha256:${"a".repeat(64)}` },
      registered: { agent_public_key: null, code_hash: null, tool_manifest_hash: null },
      verdicts: { agent_authenticated: null, code_hash_verified: null, tools_authorized: null },
      human_approval: { method: "none" },
      ...(isLast && lie),
    };
    const payload = buildActionStatement(predicate);
    const payloadHash = sha256(payload);
    const envelope = await signEnvelope(payload, service.publicKey, (bytes) => service.sign(bytes));
    const entry = encodeLogLeaf(makeLogLeaf(envelope, service.publicKey));
    leaves.push(leafHash(entry));
    const root = rootOfLeafHashes(leaves);
    const size = leaves.length;
    const proof = inclusionRanges(i, size).map(([from, to]) => rootOfLeafHashes(leaves.slice(from, to)));
    const answer = {
      ...{ attestation_id: predicate.attestation_id, agent_slug: "mail-bot", action },
      ...{ inputs_hash: predicate.request["inputs_hash"], timestamp, key_id: testKeyId, is_public: true },
      payload: new TextDecoder().decode(payload),
      payload_hash: hexEncode(payloadHash),
      signature: base64Encode(service.sign(payload)),
      envelope_signature: base64Encode(envelope.signature),
      record: predicate.record,
      log: {
        ...{ origin, index: i, tree_size: size, entry: base64Encode(entry) },
        inclusion_proof: proof.map(base64Encode),
        checkpoint: await signCheckpoint({ origin, size, root }, logKey, (bytes) => log.sign(bytes)),
      },
    };
    head = extendRecord(head, payloadHash);
    entries.push({ answer, payloadHash });
  }
  return entries;
}

function toRecord(entries: readonly Entry[]): Json {
  const head = entries.map(({ payloadHash }) => payloadHash).reduce(extendRecord, emptyRecord(agent_id));
  return {
    ...{ slug: "mail-bot", agent_id, next: null },
    head: { sequence: head.sequence, link: hexEncode(head.link) },
    entries: entries.map(({ answer, payloadHash }, i) => ({
      ...{ sequence: i + 1, kind: "attestation", payload_hash: hexEncode(payloadHash), log_origin: origin },
      ...{ log_index: i, visibility: "public", attestation_id: answer.attestation_id, public_url: "" },
    })),
  };
}

/** One compact line, as the tampering is in one place. */
const toText = (value: unknown) => (typeof value === "string" ? value : `${JSON.stringify(value)}\n`);

function changed(value: Json, change: (copy: Json) => void): Json {
  const copy = structuredClone(value);
  change(copy);
  return copy;
}

/** Another letter of the same alphabet. */
const flip = (text: string, at = 5) =>
  `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
const flipBase64 = (text: string) => {
  const bytes = base64Decode(text);
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return base64Encode(bytes);
};

/** Signed again by the service after the change, as one that lies would. */
const lied = (whole: HumanAuthorization, change: (copy: Json) => void): Promise<JsonObject> => {
  const copy = changed(whole, change) as HumanAuthorization;
  copy.binding = bindRequest(copy.request);
  return addLog(signForTest(copy));
};

/** Name → bytes; the list of cases among them. */
export async function makeConformance(): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const cases: ConformanceCase[] = [];
  const made = "keys.json";
  const zk = base64UrlEncode((await testKeyPair()).publicKey);
  const served = { ...keys, zk: { keys: [{ public_key: zk, status: "active" }] } };
  const addKeys = (name: string, content: object) =>
    files.set(name, utf8Encode(`${JSON.stringify(content, null, 2)}\n`));
  addKeys(made, served);
  type More = Partial<Omit<ConformanceCase, "name" | "kind" | "file" | "verdict">>;
  /** `failed`: the check, of what is invalid; else another verdict. */
  const add = (
    kind: Kind,
    name: string,
    content: unknown,
    verdict: string,
    { keys: trusted = made, ...more }: More = {},
    ending = "json",
  ) => {
    const file = `${kind}/${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.${ending}`;
    files.set(file, content instanceof Uint8Array ? content : utf8Encode(toText(content)));
    push(kind, name, file, verdict, { keys: trusted, ...more });
  };
  const push = (kind: Kind, name: string, file: string, verdict: string, more: More & { keys: string }) => {
    const isVerdict = ["valid", "incomplete", "erased", "refused"].includes(verdict);
    const judged = isVerdict
      ? { verdict: verdict as ConformanceCase["verdict"] }
      : { verdict: "invalid" as const, failed: verdict };
    cases.push({ name, kind, file, ...more, ...judged });
  };
  const atGolden = { keys: `${golden}/keys.json` };

  /* Golden receipts of 1.0.0. */
  const pairing = [
    "presentation.json",
    "human-approved.json",
    "human-authorization.json",
    "private-as-owner.json",
  ];
  const kinds: Record<string, Kind> = {
    "presentation.json": "presentation",
    "human-authorization.json": "approval",
  };
  // It was for an hour.
  const ended: Record<string, string> = { "presentation.json": "validity_period" };
  for (const { file, verdict } of parseGolden("index.json"))
    push(kinds[file] ?? "receipt", `golden ${file}`, `${golden}/${file}`, ended[file] ?? verdict, {
      ...atGolden,
      ...(pairing.includes(file) && { needs: ["pairing"] }),
    });

  /* Tampered with by somebody without keys. */
  const answer = parseGolden("attest-answer.json");
  const tamper = (
    name: string,
    verdict: string,
    change: (copy: Json) => void,
    whole: Json = answer,
    more: More = {},
  ) => add("receipt", name, changed(whole, change), verdict, { ...atGolden, ...more });
  const payload: string = answer.payload;
  tamper("another action in the payload", "payload_hash", (one) => {
    one.payload = payload.replace("2026-114", "2026-115");
  });
  tamper("another action in the payload, hashed again", "signature", (one) => {
    one.payload = payload.replace("2026-114", "2026-115");
    one.payload_hash = hexEncode(sha256(utf8Encode(one.payload)));
  });
  tamper("another action beside the payload", "restated_fields", (one) => {
    one.action = "Sent nothing";
  });
  tamper("an approval beside the payload", "restated_fields", (one) => {
    one.human_approved = true;
  });
  tamper("signature changed", "signature", (one) => {
    one.signature = flipBase64(one.signature);
  });
  tamper("signature of the envelope changed", "signature", (one) => {
    one.envelope_signature = flipBase64(one.envelope_signature);
  });
  tamper("under an unknown key", "signature", (one) => {
    one.key_id = "0000000000000000";
  });
  tamper("under the next key", "signature", (one) => {
    one.key_id = "1faafa4917e1772d";
  });
  tamper("entry of another leaf", "log_inclusion", (one) => {
    one.log.entry = parseGolden("human-authorization.json").log.entry;
  });
  tamper("index changed", "log_inclusion", (one) => {
    one.log.index = 2;
  });
  tamper("a hash less in the inclusion proof", "log_inclusion", (one) => {
    one.log.inclusion_proof.pop();
  });
  tamper("tree size of another checkpoint", "log_inclusion", (one) => {
    one.log.tree_size = 5;
  });
  tamper("checkpoint of a larger tree", "log_inclusion", (one) => {
    const other = parseGolden("human-authorization.json").log;
    one.log.checkpoint = other.checkpoint;
    one.log.tree_size = other.tree_size;
  });
  tamper("root changed in the checkpoint", "checkpoint_signature", (one) => {
    one.log.checkpoint = one.log.checkpoint.replace("0GoD", "0GoE");
  });
  tamper("checkpoint without a signature", "checkpoint_signature", (one) => {
    one.log.checkpoint = one.log.checkpoint.replace(/— .*\n/, "");
  });
  tamper("checkpoint with a signature line more, of nobody known", "valid", (one) => {
    one.log.checkpoint += `— witness.example ${base64Encode(new Uint8Array(76).fill(7))}\n`;
  });
  tamper("place in the record changed", "record", (one) => {
    one.record.sequence = 2;
  });
  tamper("payload with a space", "signature", (one) => {
    one.payload = payload.replace('{"_type"', '{ "_type"');
    one.payload_hash = hexEncode(sha256(utf8Encode(one.payload)));
  });
  add(
    "receipt",
    "a name twice",
    toText(answer).replace('"key_id"', '"key_id":"x","key_id"'),
    "refused",
    atGolden,
  );
  add("receipt", "half a surrogate", toText(answer).replace("Sent invoice", "\\ud800"), "refused", atGolden);
  add("receipt", "not JSON", "attested\n", "refused", atGolden, "txt");
  add("receipt", "an empty object", {}, "refused", atGolden);
  const bundle = parseGolden("bundle.json");
  tamper(
    "bundle of another entry",
    "log_inclusion",
    (one) => {
      one.verificationMaterial.tlogEntries[0].canonicalizedBody =
        parseGolden("human-authorization.json").log.entry;
    },
    bundle,
  );
  tamper(
    "bundle with another signature",
    "signature",
    ({ dsseEnvelope: { signatures } }) => {
      signatures[0].sig = flipBase64(signatures[0].sig);
    },
    bundle,
  );
  const proof = readGolden("receipt.tlog-proof");
  add(
    "receipt",
    "tlog-proof of another index",
    proof.replace("index 3", "index 2"),
    "log_inclusion",
    atGolden,
    "tlog-proof",
  );
  add("receipt", "under keys of another service", answer, "signature");

  /* Signed by a service that lies. */
  const sign = async (
    name: string,
    verdict: string,
    lie: object,
    change: (copy: Json) => void = () => {},
    more: More = {},
  ) => {
    const [one] = await makeHistory(1, lie as Partial<ActionPredicate>);
    add("receipt", name, changed(one?.answer, change), verdict, more);
  };
  const request = { agent_slug: "mail-bot", action: "Sent mail 1", inputs_hash: `sha256:${"a".repeat(64)}` };
  await sign("signed", "valid", {}, () => {}, { checks: { post_quantum: "not_applicable" } });

  /* A second time, by ML-DSA-44. */
  const signTwice = (name: string, verdict: string, makeLines: (note: string) => string, more: More = {}) =>
    sign(
      name,
      verdict,
      {},
      (one) => {
        one.log.checkpoint += makeLines(one.log.checkpoint);
      },
      { needs: ["post_quantum"], ...more },
    );
  const [, later] = await makeHistory(2);
  const ofLater = makeSecondLine(later?.answer.log.checkpoint);
  const another = makeSecond(origin, 9);
  const isSigned = { checks: { post_quantum: "pass" } } as const;
  await signTwice("signed twice", "valid", makeSecondLine, isSigned);
  await signTwice("signed twice, once for another tree", "post_quantum", () => ofLater);
  await signTwice("signed twice, once by another key in the log's name", "post_quantum", (note) =>
    makeSecondLine(note, another, secondKey),
  );
  await signTwice("signed thrice, once falsely", "post_quantum", (note) => makeSecondLine(note) + ofLater);
  await signTwice(
    "signed twice, once by a key that isn't the published one",
    "valid",
    (note) => makeSecondLine(note, another),
    { needs: [], checks: { post_quantum: "not_applicable" } },
  );
  const elsewhere = {
    origin: otherOrigin,
    vkey: encodeVerifierKey(makeVerifierKey(otherOrigin, 1, log.publicKey)),
    post_quantum_vkey: encodeVerifierKey(makeSecond(otherOrigin, 8)),
  };
  addKeys("keys-of-two-logs.json", { ...served, log: elsewhere, logs: [keys.log] });
  await signTwice("signed twice, in an earlier log", "valid", makeSecondLine, {
    ...isSigned,
    keys: "keys-of-two-logs.json",
  });
  addKeys("keys-of-another-second-key.json", {
    ...served,
    log: { ...keys.log, post_quantum_vkey: encodeVerifierKey(another) },
  });
  const pinned = [base64Encode(service.publicKey)];
  await signTwice("signed twice, and the pinned key has signed for the second", "valid", makeSecondLine, {
    ...isSigned,
    pinned,
  });
  // A key that the reader doesn't trust proves nothing, and disproves nothing.
  await signTwice(
    "signed twice, once falsely, by a published key that the pinned one hasn't signed for",
    "valid",
    (note) => makeSecondLine(note, makeSecond(origin, 10), another),
    { keys: "keys-of-another-second-key.json", pinned },
  );

  await sign("signed: a verdict without what it needs", "agent_signature", {
    verdicts: { agent_authenticated: true, code_hash_verified: null, tools_authorized: null },
  });
  await sign("signed: an asserted approval that nobody asserted", "human_authorization", {
    human_approval: { method: "hash", approver_hash: null },
  });
  await sign("signed: an approval without its object", "incomplete", {
    request: { ...request, human_authorization_hash: "ab".repeat(32) },
    human_approval: {
      ...{
        method: "rule",
        level: "none",
        request_hash: "ab".repeat(32),
        authorization_hash: "ab".repeat(32),
      },
      ...{ nullifier_hashes: [], approver_ids: [], environment: "production", inputs_bound: false },
    },
  });
  const parent = { id: idOf(7), payload_hash: "ab".repeat(32), origin: "other.example/log" };
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const signRequest = (name: string, verdict: string, more: object) =>
    sign(name, verdict, { request: { ...request, ...more } });
  await signRequest("signed: by the authority of another attestation, in a trace", "valid", {
    parent,
    traceparent,
  });
  for (const [what, more] of [
    ["a parent without its log", { parent: { id: parent.id, payload_hash: parent.payload_hash } }],
    ["a parent with a name more", { parent: { ...parent, agent_slug: "lead-bot" } }],
    ["a parent whose id is none", { parent: { ...parent, id: "019a" } }],
    ["a parent whose hash is in capitals", { parent: { ...parent, payload_hash: "AB".repeat(32) } }],
    ["a trace of zeros", { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` }],
    ["a trace without a span", { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01" }],
    ["a trace of another version", { traceparent: traceparent.replace("00-", "01-") }],
  ] as const)
    await signRequest(`signed: ${what}`, "payload_hash", more);
  await sign("signed: a time that is none", "payload_hash", { timestamp: "2026-02-30T09:06:00.000Z" });
  await sign("signed: another key id than the receipt's", "payload_hash", { key_id: "0000000000000000" });

  /* Approvals. */
  const approval = (name: string, verdict: string, content: unknown, more: More = {}) =>
    add("approval", name, content, verdict, more);
  const whole = makeEnrolledAuthorization();
  const enrolled = await addLog(whole);
  approval("three passkeys of two groups", "valid", enrolled);
  approval(
    "another amount",
    "request_hash",
    changed(enrolled, (one) => {
      one.request.amount.value = "99999";
    }),
  );
  approval(
    "signature changed",
    "service_signature",
    changed(enrolled, (one) => {
      one.signature = flipBase64(one.signature);
    }),
  );
  approval(
    "signed: another amount",
    "passkeys",
    await lied(whole, (one) => {
      one.request.amount.value = "99999";
    }),
  );
  approval(
    "a counter-offer and the request that it changes",
    "valid",
    await addLog(makeAmendedAuthorization()),
  );
  for (const [what, , forged] of listBadAmendments())
    approval(`signed: a counter-offer of ${what}`, "amendment", await addLog(forged));
  approval("one of a list of five", "valid", await addLog(makeListedAuthorization()));
  approval(
    "one of a list of twenty",
    "valid",
    await addLog(makeListOf([...otherHashes(19), requestHash(enrolledRequest)])),
  );
  const { expires_at } = enrolledRequest;
  const grant = { tools: ["bank.pay"], max_calls: 2, expires_at };
  for (const [what, , forged] of [
    ...listBadLists(),
    ["a standing approval", "", makeListedAuthorization({ ...enrolledRequest, grant })] as const,
  ])
    approval(`signed: a list with ${what}`, "passkeys", await addLog(forged));
  const isMlDsa: More = { needs: ["post_quantum"] };
  approval("by a passkey of ML-DSA-44", "valid", await addLog(makeMlDsaAuthorization()), {
    ...isMlDsa,
    checks: { passkeys: "pass" },
  });
  approval(
    "signed: by a passkey of ML-DSA-44 that another signed for",
    "passkeys",
    await addLog(makeMlDsaAuthorization(1)),
    isMlDsa,
  );
  approval(
    "signed: by a passkey of ML-DSA-44 cut short",
    "passkeys",
    await lied(makeMlDsaAuthorization(), ({ approvals: [one] }) => {
      one.credential_public_key = one.credential_public_key.slice(0, -4);
    }),
  );
  approval("by a deputy", "valid", await addLog(makeDeputyAuthorization()));
  for (const [what, check, , forged] of listBadDeputies())
    approval(`signed: a deputy, and ${what}`, check, await addLog(forged));
  approval(
    "signed: one approver less than required",
    "quorum",
    await lied(whole, (one) => {
      one.approvals.pop();
    }),
  );
  approval(
    "signed: one approver twice",
    "quorum",
    await lied(whole, (one) => {
      one.approvals[2] = one.approvals[0];
    }),
  );
  approval(
    "signed: a passkey that is not in the roster",
    "roster",
    await lied(whole, (one) => {
      one.approvals[0].credential_public_key = one.approvals[1].credential_public_key;
    }),
  );
  approval(
    "signed: a denial counted as an approval",
    "passkeys",
    await lied(whole, (one) => {
      one.approvals[0].signature = one.approvals[1].signature;
    }),
  );
  approval(
    "signed: a group that its roster entry doesn't have",
    "roster",
    await lied(whole, (one) => {
      one.approvals[0].groups = one.approvals[2].groups;
    }),
  );
  approval(
    "signed: approved after its end",
    "times",
    await lied(whole, (one) => {
      one.approved_at = "2026-11-21T09:06:00.000Z";
    }),
  );
  for (const { what, authorization, opening, reason } of listOpenings().slice(1, 8)) {
    const { request_id } = authorization.request;
    const shown = { request_id, human_authorization: await addLog(authorization), opening };
    approval(`opened: ${what}`, reason === undefined ? "valid" : "opening", shown);
  }

  /* Presentations. */
  const presentation = await makePresentation();
  const present = (name: string, verdict: string, change: (copy: Json) => void, more: More = {}) =>
    add("presentation", name, changed(presentation, change), verdict, { needs: ["pairing"], ...more });
  const audience = "https://bank.example";
  present("for its audience", "valid", () => {}, { audience, nonce: "n-1" });
  const again = (name: string, verdict: string, more: More) =>
    push("presentation", name, "presentation/for-its-audience.json", verdict, {
      keys: made,
      needs: ["pairing"],
      ...more,
    });
  again("for another audience", "audience", { audience: "https://other.example", nonce: "n-1" });
  again("with another nonce", "nonce", { audience, nonce: "n-2" });
  again("under keys of another service", "pinned_key", atGolden);
  present("another value disclosed", "proof", (one) => {
    one.disclosed[18] = '["human_approved",false]';
  });
  present("a value more disclosed", "length", (one) => {
    one.disclosed[10] = '["inputs_hash","sha256:abc"]';
  });
  present("a value under another number", "messages", (one) => {
    one.disclosed[17] = one.disclosed[18];
    delete one.disclosed[18];
  });
  present("proof changed", "proof", (one) => {
    one.proof = flip(one.proof, 700);
  });
  present("another nonce in the header", "proof", (one) => {
    const header = Buffer.from(one.presentation_header, "base64url").toString();
    one.presentation_header = Buffer.from(header.replace("n-1", "n-2")).toString("base64url");
  });

  /* Records. */
  const history = await makeHistory(3);
  const fork = await makeHistory(3, {}, 2);
  const record = toRecord(history);
  for (const [name, entries] of [
    ["first", history.slice(0, 1)],
    ["newest", history.slice(2)],
    ["forked", fork.slice(2)],
  ] as const)
    files.set(`record/receipts/${name}.json`, utf8Encode(toText(entries[0]?.answer)));
  const newest = "record/receipts/newest.json";
  const follow = (name: string, verdict: string, change: (copy: Json) => void, receipts = [newest]) =>
    add("record", name, changed(record, change), verdict, { receipts, needs: ["record"] });
  follow("whole, without a signed count", "incomplete", () => {});
  follow("an entry left out", "entries", (one) => one.entries.splice(1, 1));
  follow("an entry left out and the others renumbered", "head", (one) => {
    one.entries.splice(1, 1);
    one.entries[1].sequence = 2;
  });
  follow("the last entry left out", "head", (one) => one.entries.pop());
  follow(
    "the last entry left out of record and head",
    "receipts",
    (one) => {
      Object.assign(one, toRecord(history.slice(0, 2)));
    },
    [newest, "record/receipts/first.json"],
  );
  follow("another hash", "entries", (one) => {
    one.entries[0].payload_hash = "ab".repeat(32);
  });
  follow("in another order than the log", "entries", (one) => {
    one.entries[0].log_index = 2;
    one.entries[2].log_index = 0;
  });
  follow("of another slug", "newest_signed", (one) => {
    one.slug = "other-bot";
  });
  follow("a receipt that it doesn't have", "entries", () => {}, [newest, "record/receipts/forked.json"]);
  follow("without a head", "refused", (one) => delete one.head);

  /* Packs. */
  const addPack = async (
    name: string,
    verdict: string,
    change: (made: PackedFiles) => void,
    isWhole = true,
  ) => add("pack", name, await makePack(history, change, isWhole), verdict, { needs: ["pack"] }, "zip");
  const edit = (made: PackedFiles, name: string, change: (copy: Json) => void) =>
    made.set(name, encodePackJson(changed(JSON.parse(new TextDecoder().decode(made.get(name))), change)));
  const second = numberedFile("attestations", 2);
  await addPack("whole, without a signed count", "incomplete", () => {});
  await addPack("an attestation left out", "period", (one) => one.delete(second));
  await addPack("an attestation changed", "attestations", (one) => {
    edit(one, second, (copy) => {
      copy.payload = copy.payload.replace("mail 2", "mail 9");
    });
  });
  await addPack(
    "a file changed after the manifest",
    "files",
    (one) => {
      edit(one, second, (copy) => {
        copy.timestamp = "2026-11-21T09:01:00.001Z";
      });
    },
    false,
  );
  await addPack("two attestations exchanged", "attestations", (one) => {
    const [first, other] = [numberedFile("attestations", 1), second].map((file) => one.get(file));
    one.set(second, first ?? new Uint8Array());
    one.set(numberedFile("attestations", 1), other ?? new Uint8Array());
  });
  await addPack("an unproven step between two checkpoints", "log", (one) => {
    edit(one, packFiles.log, (copy) => copy.consistency.pop());
  });
  await addPack("a file more", "files", (one) => one.set("notes.txt", utf8Encode("trust me")));
  const cut = await makePack(history, () => {}, true);
  add("pack", "cut off", cut.subarray(0, cut.length - 10), "archive", { needs: ["pack"] }, "zip");
  const list = { version: conformanceVersion, cases };
  return files.set("cases.json", utf8Encode(`${JSON.stringify(list, null, 1)}\n`));
}

/** `isWhole`: manifest and report follow from the files as they are after the change. */
async function makePack(
  history: readonly Entry[],
  change: (files: PackedFiles) => void,
  isWhole: boolean,
): Promise<Uint8Array> {
  const period = { from: "2026-11-21T09:00:00.000Z", to: "2026-11-22T00:00:00.000Z" };
  const hashes = history.map(({ answer }) => leafHash(base64Decode(answer.log.entry)));
  const root = (from: number, to: number) => base64Encode(rootOfLeafHashes(hashes.slice(from, to)));
  const files: PackedFiles = new Map([
    [numberedFile("record", 1), encodePackJson(toRecord(history))],
    ...history.map(({ answer }, i): [string, Uint8Array] => [
      numberedFile("attestations", i + 1),
      encodePackJson(answer),
    ]),
    [numberedFile("statements", 1), encodePackJson({ statements: [], next: null })],
    [packFiles.keys, encodePackJson(keys)],
    [
      packFiles.log,
      encodePackJson({
        checkpoints: [{ origin, checkpoint: history.at(-1)?.answer.log.checkpoint }],
        consistency: [
          { origin, from: 1, to: 2, proof: [root(1, 2)] },
          { origin, from: 2, to: 3, proof: [root(2, 3)] },
        ],
      }),
    ],
    [packFiles.verifier, utf8Encode("// The verifier, which is left out here.\n")],
    [packFiles.manifest, encodePackJson({ period } as unknown as JsonObject)],
  ]);
  if (isWhole) change(files);
  const made = await forge(files, true);
  if (isWhole) return made;
  // The manifest names the files as they were.
  const listed = unpack(made);
  change(listed);
  return pack(listed);
}
