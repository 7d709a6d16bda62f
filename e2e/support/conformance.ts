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
import { type GrantTerms, usableUntil } from "#lib/protocol/approval/decided-by";
import {
  base64Decode,
  base64Encode,
  base64UrlEncode,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { computeKeyId } from "#lib/protocol/keys/ed25519";
import { encodePackJson, numberedFile, packFiles } from "#lib/protocol/pack/pack-manifest";
import {
  type Derivation,
  deriveStanding,
  type PastRequest,
  suggestDefaults,
  suggestRules,
  suggestStanding,
} from "#lib/protocol/policy/suggest";
import { disclosureMessages, PUBLIC_MESSAGE_NAMES, zkPredicate } from "#lib/protocol/presentation/disclosure";
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
import { makeBoundedReceipt } from "./bounded-receipt";
import { ATTESTATION_ID, testKeyPair, testPayload } from "./disclosure";
import {
  enrolledRequest,
  groupId,
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
import {
  addTestLogEntry,
  makeTestAuthorization,
  signForTest,
  testKeyId,
  testShown,
} from "./human-authorization";
import { listOpenings } from "./openings";
import { forge, type Json, type PackedFiles, pack, parse, unpack } from "./packs";
import {
  approveByGrant,
  approveByPeople,
  createSignedLog,
  makePlantedPack,
  ruledBy,
  signedTerms,
  timeAt,
  toPast,
} from "./signed-packs";

export const conformanceVersion = 1;
export const conformanceFolder = path.resolve("public/vectors/conformance");
const golden = "../1.0.0";

type Kind = "receipt" | "approval" | "presentation" | "record" | "pack" | "chain";
/** Parts of a verifier that some don't have. */
type Part = "pairing" | "post_quantum" | "record" | "pack" | "report" | "chain";

export interface ConformanceCase {
  name: string;
  kind: Kind;
  file: string;
  keys: string;
  /** Keys of further instances, and the receipts after the first of a chain. */
  other_keys?: string[];
  parents?: string[];
  /** Attestation keys that alone are trusted, with what they have signed for. */
  pinned?: string[];
  /** Receipts that somebody holds of a record. */
  receipts?: string[];
  audience?: string;
  nonce?: string;
  verdict: "valid" | "invalid" | "incomplete" | "erased" | "refused";
  /** Name of one failing check. */
  failed?: string;
  /** Status of checks where the verdict doesn't show that they ran. */
  checks?: Record<string, string>;
  needs?: Part[];
}

const readGolden = (name: string) => readFileSync(path.resolve("public/vectors/1.0.0", name), "utf8");
const parseGolden = (name: string): Json => JSON.parse(readGolden(name));

const makeSigner = (fill: number) => createLocalSigner(Buffer.alloc(32, fill).toString("base64"), "test");
const service = makeSigner(7);
const log = makeSigner(8);
const origin = "countersign.example/log";
const logKey = makeVerifierKey(origin, 1, log.publicKey);
const makeSecond = (name: string, fill: number) => {
  const { publicKey, secretKey } = ml_dsa44.keygen(new Uint8Array(32).fill(fill));
  return { ...makeVerifierKey(name, 6, publicKey), secretKey };
};
const secondKey = makeSecond(origin, 8);
const otherOrigin = "other.example/log";

/** Service and log that sign an attestation. */
const home = { service, log, logKey };
type Instance = typeof home;
const otherLog = makeSigner(12);
const other: Instance = {
  ...{ service: makeSigner(11), log: otherLog },
  logKey: makeVerifierKey(otherOrigin, 1, otherLog.publicKey),
};

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

function listKeys({ service, logKey }: Instance) {
  const { publicKey } = service;
  const names = { key_id: computeKeyId(publicKey), public_key: base64Encode(publicKey) };
  const validity = { valid_from_index: 0, valid_to_index: null, status: "active" };
  return {
    keys: [{ ...names, log_origin: logKey.name, ...validity }],
    log: { origin: logKey.name, vkey: encodeVerifierKey(logKey) },
  };
}

const homeKeys = listKeys(home);
const keys = {
  ...homeKeys,
  log: { ...homeKeys.log, post_quantum_vkey: encodeVerifierKey(secondKey) },
  key_events: [makeKeyEvent("log", log.publicKey), makeKeyEvent("log_post_quantum", secondKey.publicKey)],
};

/** Presentation of a private attestation, with "random" numbers that are the same each time. */
async function makePresentation(attestationId?: string): Promise<Json> {
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
    if (attestationId !== undefined)
      return await derivePresentation(credential, PUBLIC_MESSAGE_NAMES, { kind: "public", attestationId });
    return await derivePresentation(credential, ["agent_slug", "human_approved"], {
      ...{ kind: "audience", audience: "https://bank.example", nonce: "n-1" },
      ...{ issuedAtSeconds: 1_795_000_000, expiresAtSeconds: 4_000_000_000 },
    });
  } finally {
    delete (webcrypto as { getRandomValues?: unknown }).getRandomValues;
  }
}

/** Gives it a log entry of its own, in a log of one leaf. */
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

/** A log that one agent's attestations are all of; `said` begins their ids. */
function openLog({ service, log, logKey }: Instance, said = 1) {
  const leaves: Uint8Array[] = [];
  const key_id = computeKeyId(service.publicKey);
  let record = emptyRecord(agent_id);
  return async (action: string, lie: Partial<ActionPredicate> = {}): Promise<Entry> => {
    const index = leaves.length;
    const timestamp = `2026-11-21T09:0${index}:00.000Z`;
    const predicate: ActionPredicate = {
      ...{ attestation_id: idOf(10 * said + index), timestamp, key_id, organization: idOf(1) },
      ...{ is_public: true, salt: base64Encode(new Uint8Array(16).fill(index)) },
      record: { agent_id, sequence: index + 1, previous: hexEncode(record.link) },
      request: { agent_slug: "mail-bot", action, inputs_hash: `sha256:${"a".repeat(64)}` },
      registered: { agent_public_key: null, code_hash: null, tool_manifest_hash: null },
      verdicts: { agent_authenticated: null, code_hash_verified: null, tools_authorized: null },
      human_approval: { method: "none" },
      ...lie,
    };
    const payload = buildActionStatement(predicate);
    const payloadHash = sha256(payload);
    const envelope = await signEnvelope(payload, service.publicKey, (bytes) => service.sign(bytes));
    const entry = encodeLogLeaf(makeLogLeaf(envelope, service.publicKey));
    leaves.push(leafHash(entry));
    const [size, root] = [leaves.length, rootOfLeafHashes(leaves)];
    const proof = inclusionRanges(index, size).map(([from, to]) => rootOfLeafHashes(leaves.slice(from, to)));
    const head = { origin: logKey.name, size, root };
    const answer = {
      ...{ attestation_id: predicate.attestation_id, agent_slug: "mail-bot", action },
      ...{ inputs_hash: predicate.request["inputs_hash"], timestamp, key_id, is_public: predicate.is_public },
      payload: new TextDecoder().decode(payload),
      payload_hash: hexEncode(payloadHash),
      signature: base64Encode(service.sign(payload)),
      envelope_signature: base64Encode(envelope.signature),
      record: predicate.record,
      log: {
        ...{ origin: logKey.name, index, tree_size: size, entry: base64Encode(entry) },
        inclusion_proof: proof.map(base64Encode),
        checkpoint: await signCheckpoint(head, logKey, (bytes) => log.sign(bytes)),
      },
    };
    record = extendRecord(record, payloadHash);
    return { answer, payloadHash };
  };
}

/** `lie`: what the service signs otherwise of the last. */
async function makeHistory(count: number, lie: Partial<ActionPredicate> = {}, said = 1): Promise<Entry[]> {
  const append = openLog(home, said);
  const entries: Entry[] = [];
  for (let i = 1; i < count; i += 1) entries.push(await append(`Sent mail ${i}`));
  const action = said === 1 ? `Sent mail ${count}` : "Sent another mail";
  return [...entries, await append(action, lie)];
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

/** One compact line, because each tampering is in one place. */
const toText = (value: unknown) => (typeof value === "string" ? value : `${JSON.stringify(value)}\n`);

function changed(value: Json, change: (copy: Json) => void): Json {
  const copy = structuredClone(value);
  change(copy);
  return copy;
}

/** Replaces a character by another one of the same alphabet. */
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
  // The presentation was valid for an hour.
  const ended: Record<string, string> = { "presentation.json": "validity_period" };
  for (const { file, verdict } of parseGolden("index.json"))
    push(kinds[file] ?? "receipt", `golden ${file}`, `${golden}/${file}`, ended[file] ?? verdict, {
      ...atGolden,
      ...(pairing.includes(file) && { needs: ["pairing"] }),
    });

  /* Tampered with by somebody without keys. */
  const answer = parseGolden("attest-answer.json");
  const tamper = (name: string, verdict: string, change: (copy: Json) => void, whole: Json = answer) =>
    add("receipt", name, changed(whole, change), verdict, atGolden);
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
  const isSaid = { agent_authenticated: null, code_hash_verified: null, tools_authorized: null };
  await sign("signed: a code hash that fits, where none was registered", "code_hash", {
    verdicts: { ...isSaid, code_hash_verified: true },
  });
  await sign("signed: tools that are allowed, where none were registered", "tools", {
    verdicts: { ...isSaid, tools_authorized: true },
  });
  const zkKeyPair = await testKeyPair();
  await sign(
    "signed: a zero-knowledge proof that isn't there",
    "zk_proof",
    { zk: zkPredicate(zkKeyPair.publicKey) },
    (one) => {
      one.zk_proof = null;
    },
  );
  const [ownKey] = homeKeys.keys;
  addKeys("keys-retired.json", { ...served, keys: [{ ...ownKey, valid_to_index: 1, status: "retired" }] });
  add("receipt", "signed: by a key that was retired before", later?.answer, "key_validity", {
    keys: "keys-retired.json",
  });
  addKeys("keys-of-the-golden-log.json", { ...parseGolden("keys.json"), keys: homeKeys.keys });
  push("receipt", "tlog-proof of an entry by an unknown key", `${golden}/receipt.tlog-proof`, "entry_key", {
    keys: "keys-of-the-golden-log.json",
  });

  /* Times by others' clocks. */
  const made_at = 1_795_000_000;
  const { trust } = await makeBoundedReceipt({ made: made_at });
  addKeys("keys-with-a-witness.json", {
    keys: trust.keys.map(({ keyId, publicKey }) => ({
      ...{ key_id: keyId, public_key: base64Encode(publicKey), valid_from_index: 0, valid_to_index: null },
    })),
    log: {
      ...{ origin: trust.logKeys[0]?.name, vkey: trust.logKeys.map(encodeVerifierKey)[0] },
      witnesses: { members: trust.witnesses?.map((key) => ({ vkey: encodeVerifierKey(key) })) },
    },
  });
  const bounded = async (
    name: string,
    verdict: string,
    clocks: { after?: number; before?: number },
    more: More & { change?: (copy: Json) => void } = {},
  ) => {
    const { change = () => {}, ...rest } = more;
    const { answer } = await makeBoundedReceipt({ made: made_at, ...clocks });
    add("receipt", name, changed(answer, change), verdict, { keys: "keys-with-a-witness.json", ...rest });
  };
  const [earlier, afterwards] = [{ after: made_at - 10 }, { before: made_at + 10 }];
  await bounded(
    "between two times of a witness",
    "valid",
    { ...earlier, ...afterwards },
    { checks: { not_before: "pass", not_after: "pass" } },
  );
  await bounded("signed: before the checkpoint that it names", "not_before", { after: made_at + 10 });
  await bounded("beside another checkpoint than it names", "not_before", earlier, {
    change: (one) => {
      one.time_bounds.checkpoint = one.log.checkpoint;
    },
  });
  await bounded("signed: after the checkpoint that covers it", "not_after", { before: made_at - 10 });
  await bounded("covered by a checkpoint that another log signed", "not_after", afterwards, {
    change: ({ time_bounds }) => {
      time_bounds.anchors[0].checkpoint = later?.answer.log.checkpoint;
    },
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
  const others = await addLog(makeAmendedAuthorization());
  addKeys("keys-retired-at-once.json", {
    ...served,
    keys: [{ ...ownKey, valid_to_index: 0, status: "retired" }],
  });
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
  /** Signed as it is after the change, a binding that doesn't follow among it. */
  const signedAs = (authorization: HumanAuthorization, change: (copy: Json) => void) =>
    addLog(signForTest(changed(authorization, change)));
  const otherHash = "ab".repeat(32);
  const { approvals: proven, log: _log, ...asked } = parseGolden("human-authorization.json");
  const goldenLie = (change: (copy: Json) => void) =>
    lied({ ...asked, approvals: proven, key_id: testKeyId }, change);
  for (const [what, check, change] of [
    [
      "another action for World",
      "world_action",
      (one) => (one.binding.world_action = asked.binding.world_action),
    ],
    ["another signal for World", "signal", (one) => (one.binding.signal = `0x${otherHash}`)],
    [
      "approvals of what a rule allowed",
      "decided_by",
      (one) => {
        const named = { ruleset_hash: otherHash, policy_ids: ["p"], context_hash: otherHash };
        one.decided_by = { kind: "rule", ...named };
        one.usable_until = usableUntil(one);
      },
    ],
    [
      "usable for longer than it was asked for",
      "usable",
      (one) => (one.usable_until = "2027-01-01T00:00:00.000Z"),
    ],
    ["people of a test", "environment", (one) => (one.environment = "staging")],
  ] as [string, string, (copy: Json) => void][])
    approval(`signed: ${what}`, check, await signedAs(whole, change));
  const four = { ...enrolledRequest, approvals_required: 4 };
  approval(
    "signed: three passkeys where four are required",
    "approval_count",
    await addLog(makeEnrolledAuthorization([0, 1, 2], four)),
  );
  const world = makeTestAuthorization();
  approval("two proofs of personhood, checked by World", "valid", await addLog(world), {
    needs: ["pairing"],
  });
  for (const [what, check, change] of [
    [
      "one human twice",
      "distinct_humans",
      ({ approvals }) => (approvals[1].nullifier_hash = approvals[0].nullifier_hash),
    ],
    [
      "a root that isn't the proof's",
      "anchors",
      ({ approvals }) => (approvals[0].anchor.root = approvals[0].anchor.block_hash),
    ],
  ] as [string, string, (copy: Json) => void][])
    approval(`signed: ${what}`, check, await signedAs(world, change));
  approval(
    "signed: a lower level than required",
    "level",
    await goldenLie((one) => {
      one.request.required_level = "orb";
      one.approvals[0].level = "device";
    }),
  );
  approval(
    "signed: a proof of personhood over another request",
    "proofs",
    await goldenLie((one) => {
      one.request.action = "Pay 99,999 EUR to Example GmbH";
    }),
    { needs: ["pairing"] },
  );
  const inLog = (name: string, check: string, change: (log: Json) => void) =>
    approval(
      name,
      check,
      changed(enrolled, ({ log: place }) => change(place)),
    );
  inLog("a log entry of another approval", "logged_decision", (place) => {
    Object.assign(place, others["log"]);
  });
  inLog("another index in the log", "log_inclusion", (place) => {
    place.index = 1;
  });
  inLog("another root in the checkpoint", "checkpoint_signature", (place) => {
    const [name, size] = place.checkpoint.split("\n");
    place.checkpoint = place.checkpoint.replace(
      /.*\n.*\n.*/,
      [name, size, base64Encode(new Uint8Array(32))].join("\n"),
    );
  });
  inLog("another size of the tree", "decision_log", (place) => {
    place.tree_size = 2;
  });
  approval("signed: after the key was retired", "entry_key", enrolled, { keys: "keys-retired-at-once.json" });
  approval("in an answer about another request", "restated_fields", {
    ...{ request_id: "areq_other", human_authorization: enrolled },
  });
  const { request_id } = enrolledRequest;
  const { group_names: _names, ...page } = testShown;
  const shownBeside = { request_id, human_authorization: enrolled, ...page };
  approval("beside what its page showed", "valid", shownBeside, { checks: { shown_content: "pass" } });
  approval("beside what its page didn't show", "shown_content", {
    ...{ ...shownBeside, context: { invoice: "2026-115" } },
  });
  approval(
    "signed: another amount",
    "passkeys",
    await lied(whole, (one) => {
      one.request.amount.value = "99999";
    }),
  );
  approval("a counter-offer and the request that it changes", "valid", others);
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
  for (const { what, authorization, opening, reason } of listOpenings().slice(1, 11)) {
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

  present("another cipher suite", "suite", (one) => {
    one.ciphersuite = "BLS12-381-SHAKE-256";
  });
  present("a field more", "shape", (one) => {
    one.verified = true;
  });
  present("another header", "header", (one) => {
    one.header = flip(one.header);
  });
  present("a value under a number that there is not", "indexes", (one) => {
    one.disclosed[99] = one.disclosed[18];
    delete one.disclosed[18];
  });
  const [open, publicly] = [await makePresentation(ATTESTATION_ID), await makePresentation(idOf(9))];
  add("presentation", "for everybody", open, "valid", { needs: ["pairing"] });
  add("presentation", "signed: for everybody, of another attestation", publicly, "attestation_id", {
    needs: ["pairing"],
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
  await addSignedPacks(
    (name, verdict, content, more = {}) =>
      add("pack", name, content, verdict, { needs: ["pack"], ...more }, "zip"),
    (name, verdict, content) => add("record", name, content, verdict, { needs: ["record"] }),
  );
  const cut = await makePack(history, () => {}, true);
  add("pack", "cut off", cut.subarray(0, cut.length - 10), "archive", { needs: ["pack"] }, "zip");

  /* Chains of authority. */
  addKeys("keys-of-the-other.json", listKeys(other));
  const links = await makeLinks();
  for (const [name, link] of Object.entries(links)) files.set(`chain/${name}.json`, utf8Encode(toText(link)));
  const lead = (name: string, verdict: string, names: (keyof typeof links)[], more: More = {}) => {
    const [first = "", ...parents] = names.map((link) => `chain/${link}.json`);
    const given: More = { parents, other_keys: ["keys-of-the-other.json"], needs: ["chain"] };
    push("chain", name, first, verdict, { keys: made, ...given, ...more });
  };
  lead("of two instances, the second link private and opened", "valid", ["payment", "reservation", "order"]);
  lead("in another order of files", "valid", ["payment", "order", "reservation"]);
  lead("an attestation without a parent", "valid", ["order"]);
  lead("the end of what was begun", "valid", ["end", "payment", "reservation", "order"]);
  lead("a parent that is not among the files", "incomplete", ["payment", "reservation"]);
  lead("a parent whose owner has not opened it", "incomplete", ["payment", "reservation-closed"]);
  lead("a parent whose content was erased", "incomplete", ["payment", "reservation-erased"]);
  lead("a parent without its approval", "incomplete", ["of-the-approved", "approved"]);
  lead("a parent whose payload was changed", "link 2", ["payment", "reservation-changed", "order"]);
  lead("the first one changed", "link 1", ["payment-changed", "reservation", "order"]);
  lead("signed: another attestation under the parent's id", "link 2", ["payment", "reservation-again"]);
  lead("signed: a parent of another hash", "link 2", ["of-another-hash", "order"]);
  lead("signed: a parent in another log", "link 2", ["of-another-log", "order"]);
  lead("signed: a parent in the other log, by this instance's key", "link 2", ["of-the-foreign", "foreign"]);
  lead("signed: its own parent", "link 2", ["itself"]);
  lead("signed: each the other's parent", "link 3", ["round", "reservation-of-round"]);
  lead("a file that is no part of it", "files", ["payment", "reservation", "order", "approved"]);
  lead("a gap between the files", "files", ["payment", "order"]);
  lead("no keys of a parent's log", "refused", ["payment", "reservation", "order"], { other_keys: [] });
  lead("one attestation twice", "refused", ["payment", "reservation", "reservation"]);
  const list = { version: conformanceVersion, cases };
  return files.set("cases.json", utf8Encode(`${JSON.stringify(list, null, 1)}\n`));
}

type SignedLog = ReturnType<typeof createSignedLog>;

/** Packs of decisions, signed counts and statements, in which everything is signed. */
async function addSignedPacks(
  add: (name: string, verdict: string, content: Uint8Array, more?: Partial<ConformanceCase>) => void,
  addRecord: (name: string, verdict: string, content: object) => void,
): Promise<void> {
  const people = approveByPeople(1, 0);
  const make = async (
    write: (log: SignedLog) => Promise<unknown>,
    change: (made: PackedFiles) => void = () => {},
    { isGrounded = true } = {},
  ) => {
    const log = createSignedLog();
    if (isGrounded) await log.stateRoster();
    await write(log);
    return log.pack({ change });
  };
  const approve = async (log: SignedLog) => {
    await log.decide("approved", 0, { approval: people });
    await log.attest(1, { approval: people });
  };
  const edit = (name: string, change: (copy: Json) => void) => (made: PackedFiles) => {
    made.set(name, encodePackJson(changed(parse(made, name), change)));
  };
  const record = numberedFile("record", 1);
  const held = ["decisions", "grounds", "uses", "verdicts", "record snapshot", "record sum"] as const;
  add("approved by people, with a signed count", "incomplete", await make(approve), {
    checks: Object.fromEntries(held.map((name) => [name, "pass"])),
  });
  for (const [what, check, file, change] of [
    [
      "a decision changed",
      "decisions",
      numberedFile("decisions", 1),
      (one) => (one.payload = one.payload.replace("approved", "refused_")),
    ],
    ["a record of another slug", "record newest_signed", record, (one) => (one.slug = "other-bot")],
    [
      "an entry's hash changed in the record",
      "record entries",
      record,
      (one) => (one.entries[0].log_index = 7),
    ],
    ["a head that nothing leads to", "record head", record, (one) => (one.head.link = "ab".repeat(32))],
    [
      "a count of another agent",
      "record snapshot",
      record,
      (one) => (one.snapshot.salt = base64Encode(new Uint8Array(16))),
    ],
    ["a statement left out", "record sum", numberedFile("statements", 1), (one) => one.statements.shift()],
  ] as [string, string, string, (copy: Json) => void][])
    add(what, check, await make(approve, edit(file, change)));
  add(
    "a page of the record that nothing leads to",
    "record files",
    await make(approve, (made) => {
      made.set(numberedFile("record", 9), made.get(record) ?? new Uint8Array());
    }),
  );
  add(
    "a record that is none",
    "content",
    await make(approve, (made) => made.set(record, utf8Encode("[]\n"))).catch(() => new Uint8Array()),
  );
  add(
    "signed: approvers of no roster that the log had",
    "grounds",
    await make(approve, () => {}, { isGrounded: false }),
  );
  const grant = approveByPeople(1, 0, { grant: signedTerms });
  const use = (times: number[]) => (log: SignedLog) =>
    times.reduce(
      (before, use, i) =>
        before.then(() =>
          log.decide("approved", 1 + i, {
            approval: approveByGrant(grant, 2 + i, 1 + i, { use, spent: String(20 * use) }),
          }),
        ),
      log.decide("approved", 0, { approval: grant }),
    );
  add("a standing approval, used twice", "incomplete", await make(use([1, 2])), { checks: { uses: "pass" } });
  add("signed: a standing approval, its first use left out", "uses", await make(use([2])));
  const count = (log: SignedLog) =>
    log.attest(0, { client: [1, false] }).then(() => log.attest(1, { client: [3, false] }));
  add("signed: a gap in the agent's own numbers that the service denies", "verdicts", await make(count));
  const otherAgent = (log: SignedLog) =>
    log.attest(0, { said: { request: { agent_slug: "other-bot", action: "Pay", inputs_hash: "x" } } });
  add("signed: an attestation of another agent in the record", "agent", await make(otherAgent));
  const rules = 'permit(principal, action, resource) when { context.tool == "bank.pay" };';
  const decideByRules = (customer: string) => async (log: SignedLog) => {
    await log.stateRules(rules);
    const { context, ...said } = ruledBy(rules, people.request, { customer: "Example Ltd" });
    const changedContext = { ...(context as Json), context: { customer } };
    await log.decide("approved", 0, {
      approval: people,
      decided_by: { kind: "people" },
      rules: { ...said, context: changedContext },
    });
  };
  const withRules = (made: PackedFiles) =>
    made.set(numberedFile("rules", 1), encodePackJson({ text: rules, fallback: "ask" }));
  add("what rules saw of a request", "incomplete", await make(decideByRules("Example Ltd"), withRules), {
    checks: { rules: "pass" },
  });
  add("what rules didn't see of a request", "rules", await make(decideByRules("Other Ltd"), withRules));
  add(
    "a count of decisions that doesn't follow from them",
    "attention",
    await make(approve, (made) =>
      made.set(
        packFiles.attention,
        encodePackJson({
          version: 1,
          groups: [
            {
              group: groupId(0),
              name: "finance",
              since: "2026-11-01T00:00:00.000Z",
              weeks: [{ week: "2026-W47", amended: 0, expired: 9 }],
            },
          ],
        }),
      ),
    ),
  );
  const derive =
    (lie: Partial<GrantTerms> = {}) =>
    async (log: SignedLog) => {
      const past: PastRequest[] = [];
      for (let i = 0; i < 5; i += 1) {
        const approval = approveByPeople(i, i, {
          ...{ tool: "bank.transfer", created_at: `2026-11-${19 + (i % 2)}T07:00:00.000Z` },
          ...{ amount: { value: `${10 + i}`, currency: "EUR" }, details: { complete: true, types: "ss" } },
        });
        const context = { customer: "Example Ltd", invoice: `INV-${i}` };
        const rules = ruledBy("", approval.request, context);
        past.push(toPast(approval.request, context));
        await log.decide("approved", i, { approval, decided_by: { kind: "people" }, rules });
      }
      const [found] = suggestRules(past, { ...suggestDefaults, withMoney: true });
      const to = timeAt(8);
      const terms = found && suggestStanding(found.bounds, to, past);
      if (!terms) throw new Error("these suggest nothing");
      const derivation: Derivation = {
        ...{ version: 1, policy_id: found.policyId, bounds: found.bounds, requests: found.covers },
        ...{ from: "2026-11-01T00:00:00.000Z", to, approvals: 5, days: 2, salt: "AAAAAAAAAAAAAAAAAAAAAA==" },
      };
      const grant = deriveStanding({ ...terms, ...lie }, derivation);
      await log.decide("approved", 9, {
        ...{
          approval: approveByPeople(9, 9, { grant }),
          derivation: { ...derivation } as unknown as JsonObject,
        },
      });
    };
  add("a standing approval derived from five approvals", "incomplete", await make(derive()), {
    checks: { derivations: "pass" },
  });
  add(
    "signed: a derived standing approval of more than was approved",
    "derivations",
    await make(derive({ max_budget: "60.01" })),
  );
  add("planted requests", "incomplete", await makePlantedPack({}), {
    checks: { "planted requests": "pass" },
  });
  add(
    "planted requests, one said to be denied that wasn't",
    "planted requests",
    await makePlantedPack({
      files: (_, { schedules }) => {
        const [opening] = schedules[0]?.openings.slice(1) ?? [];
        if (opening) opening.outcome = "denied";
      },
    }),
  );
  const honest = unpack(await make(approve));
  const page = parse(honest, record);
  addRecord("with a signed count of another agent", "snapshot", {
    ...{ ...page, snapshot: { ...page.snapshot, salt: base64Encode(new Uint8Array(16)) } },
  });
  const rewrite = async (name: string, bytes: Uint8Array) => {
    const made = new Map(honest).set(name, bytes);
    if (name === packFiles.manifest) return pack(made);
    edit(packFiles.manifest, ({ files }) => {
      Object.assign(
        files.find((one: Json) => one.name === name),
        { length: bytes.length, sha256: hexEncode(sha256(bytes)) },
      );
    })(made);
    return pack(made);
  };
  const text = (name: string) => new TextDecoder().decode(honest.get(name));
  add(
    "a report that says otherwise",
    "report",
    await rewrite(packFiles.report, utf8Encode(text(packFiles.report).replace("12,000 EUR", "99,000 EUR"))),
    { needs: ["pack", "report"] },
  );
  const manifest = changed(parse(honest, packFiles.manifest), (one) => (one.agent.slug = "other-bot"));
  add("a manifest of another agent", "manifest", await rewrite(packFiles.manifest, encodePackJson(manifest)));
}

/** Receipts of two instances whose agents act by one another's authority, and what could be shown in their places. */
async function makeLinks() {
  const [here, there] = [openLog(home, 5), openLog(other, 6)];
  const actBy = (append: typeof here, action: string, parent?: Json, more: Partial<ActionPredicate> = {}) => {
    const own = { agent_slug: "mail-bot", action, inputs_hash: `sha256:${"a".repeat(64)}` };
    const request = { ...own, ...(parent && { parent }), ...more.request };
    return append(action, { ...more, request }).then(({ answer }) => answer);
  };
  const linkTo = ({ attestation_id: id, payload_hash, log: { origin } }: Json) => ({
    ...{ id, payload_hash, origin },
  });
  const order = await actBy(here, "Order 20 chairs");
  const reservation = await actBy(there, "Reserve 20 chairs", linkTo(order), { is_public: false });
  const payment = await actBy(here, "Pay the deposit", linkTo(reservation));
  const end = await actBy(here, "Pay the deposit", linkTo(payment));
  const approval = "ab".repeat(32);
  const approved = await actBy(here, "Pay the rest", undefined, {
    request: { human_authorization_hash: approval },
    human_approval: {
      ...{ method: "rule", level: "none", request_hash: approval, authorization_hash: approval },
      ...{ nullifier_hashes: [], approver_ids: [], environment: "production", inputs_bound: false },
    },
  });
  const foreign = await actBy(openLog({ ...other, service }, 7), "Reserve 30 chairs");
  const falsely = { id: idOf(80), payload_hash: "cd".repeat(32), origin };
  const reservationOfRound = await actBy(openLog(other, 9), "Reserve 40 chairs", falsely);
  const closed = changed(reservation, (one) => {
    Object.assign(one, { payload: null, action: null, inputs_hash: null });
  });
  return {
    ...{ order, reservation, payment, end, approved, foreign },
    "of-the-approved": await actBy(here, "Pay the rest", linkTo(approved)),
    "of-the-foreign": await actBy(here, "Pay", linkTo(foreign)),
    "of-another-hash": await actBy(here, "Pay", { ...linkTo(order), payload_hash: "ab".repeat(32) }),
    "of-another-log": await actBy(here, "Pay", { ...linkTo(order), origin: otherOrigin }),
    // A receipt can't hold its own hash.
    itself: await actBy(openLog(home, 8), "Pay", falsely),
    round: await actBy(openLog(home, 8), "Pay", linkTo(reservationOfRound)),
    "reservation-of-round": reservationOfRound,
    "reservation-again": await actBy(openLog(other, 6), "Reserve 90 chairs", linkTo(order)),
    "reservation-closed": closed,
    "reservation-erased": changed(closed, (one) => {
      Object.assign(one, { status: "erased", erased_at: "2026-11-22T09:00:00.000Z", timestamp: null });
    }),
    "reservation-changed": changed(reservation, (one) => {
      one.payload = one.payload.replace("Reserve", "Release");
    }),
    "payment-changed": changed(payment, (one) => {
      one.payload = one.payload.replace("deposit", "salary!");
    }),
  };
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
