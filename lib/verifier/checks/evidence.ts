/** The kinds of files that the verifier takes, distinguished by their shape, which decides nothing else. */

import type { ShownContent } from "#lib/protocol/approval/shown-content";
import { base64Decode, hexDecode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { isRecordPlace, type RecordNeighbours } from "#lib/protocol/record/agent-record";
import { type LogBundle, parseBundle } from "#lib/protocol/statement/bundle";
import type { Receipt } from "#lib/protocol/statement/receipt";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import { parseTlogProof } from "#lib/protocol/tlog/tlog-proof";

/* Reading what an outsider was given. Nothing in it is believed; what is not even the right shape is refused. */

/** An answer may have half of it in rows (lib/verifier/cli/io.ts), which the monitor keeps in base64. */
const maxCharacters = 128 * 1024 * 1024;

/** The file is not of a kind or shape that can be verified at all: neither valid nor invalid. */
export class UnreadableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnreadableError";
  }
}

/** Text is parsed strictly (no name twice); a value that someone has parsed already is taken as it is. */
export function readObject(json: unknown, isWellFormed?: boolean): JsonObject {
  const value = typeof json === "string" ? readJson(json, isWellFormed) : json;
  if (!isJsonObject(value)) throw new UnreadableError("expected a JSON object");
  return value;
}

export function readJson(text: string, isWellFormed?: boolean): JsonValue {
  try {
    return parseStrictJson(text, { maxCharacters, isWellFormed });
  } catch (error) {
    throw new UnreadableError(`not strict JSON: ${error instanceof Error ? error.message : "malformed"}`);
  }
}

export function requireText(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value !== "string") throw new UnreadableError(`${name}: expected a string`);
  return value;
}

export function requireObject(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (!isJsonObject(value)) throw new UnreadableError(`${name}: expected an object`);
  return value;
}

export function requireIndex(object: JsonObject, name: string): number {
  const value = object[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new UnreadableError(`${name}: expected a whole number`);
  return value;
}

export function requireTexts(object: JsonObject, name: string): string[] {
  const value = object[name];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw new UnreadableError(`${name}: expected a list of strings`);
  return value;
}

export function decodeBase64(text: string, name: string, length?: number): Uint8Array {
  return decode(text, name, base64Decode, length);
}

export function decodeHash(text: string, name: string): Uint8Array {
  return decode(text, name, hexDecode, 32);
}

function decode(text: string, name: string, decoder: (text: string) => Uint8Array, length?: number) {
  let bytes: Uint8Array;
  try {
    bytes = decoder(text);
  } catch {
    throw new UnreadableError(`${name}: ${decoder === hexDecode ? "not lower-case hex" : "not base64"}`);
  }
  if (length !== undefined && bytes.length !== length)
    throw new UnreadableError(`${name}: expected ${length} bytes`);
  return bytes;
}

/*
 * Converts the answer of POST /v1/attest or GET /v1/verify/:id to what the verifier reads. Only fields that carry evidence are
 * taken; `valid`, `checks` and `independent_verification` are not. No schema of the contract is used, so that later releases
 * still read the receipts of every earlier one.
 */

/** `json`: text or a parsed value. Throws {@link UnreadableError} for what is not such an answer. */
export function parseReceipt(json: unknown): Receipt {
  const object = readObject(json);
  return {
    attestationId: requireText(object, "attestation_id"),
    agentSlug: requireText(object, "agent_slug"),
    payload: readPayload(object),
    isErased: typeof object["erased_at"] === "string",
    payloadHash: decodeHash(requireText(object, "payload_hash"), "payload_hash"),
    signature: decodeBase64(requireText(object, "signature"), "signature", 64),
    envelopeSignature: decodeBase64(requireText(object, "envelope_signature"), "envelope_signature", 64),
    keyId: requireText(object, "key_id"),
    isPublic: readIsPublic(object),
    log: readLogReceipt(requireObject(object, "log")),
    toolManifest: readToolManifest(object),
    humanAuthorization: readOptionalObject(object, "human_authorization"),
    zkProof: readZkProof(object),
    record: readRecord(object),
    time: readTimeEvidence(object),
  };
}

function isAttestationAnswer(object: JsonObject): boolean {
  return "attestation_id" in object && "payload_hash" in object && "log" in object;
}

function readPayload(object: JsonObject): Receipt["payload"] {
  const { payload, status } = object;
  if (status !== undefined && status !== "recorded" && status !== "erased")
    throw new UnreadableError("status: expected recorded or erased");
  if (typeof payload === "string") {
    if (status === "erased") throw new UnreadableError("status: erased, yet the payload is there");
    if (!payload.isWellFormed()) throw new UnreadableError("payload: not well-formed text");
    return utf8Encode(payload);
  }
  if (payload !== null) throw new UnreadableError("payload: expected a string or null");
  if (status === "erased") return object["erased_at"] === null ? "lost" : "erased";
  // A payload that its reader may not see has a time all the same; without one it was not there to be read.
  return object["is_public"] === false && object["timestamp"] !== null ? "hidden" : "lost";
}

function readIsPublic(object: JsonObject): boolean {
  const value = object["is_public"];
  if (typeof value !== "boolean") throw new UnreadableError("is_public: expected true or false");
  return value;
}

/** Indexed by height: leaves beside each other have most hashes of their proofs in common. */
const lastProof: { text: string; hash: Uint8Array }[] = [];

function decodeProofHash(text: string, height: number): Uint8Array {
  const last = lastProof[height];
  if (last?.text === text) return last.hash;
  const hash = decodeBase64(text, "log.inclusion_proof", 32);
  // A list of proofs in a file may have any length.
  if (height < 64) lastProof[height] = { text, hash };
  return hash;
}

export function readLogReceipt(log: JsonObject): Receipt["log"] {
  return {
    index: requireIndex(log, "index"),
    treeSize: requireIndex(log, "tree_size"),
    entry: decodeBase64(requireText(log, "entry"), "log.entry"),
    inclusionProof: requireTexts(log, "inclusion_proof").map(decodeProofHash),
    checkpoint: requireText(log, "checkpoint"),
  };
}

function readToolManifest(object: JsonObject): Receipt["toolManifest"] {
  const value = object["tool_manifest"];
  if (value === undefined) return "absent";
  if (value !== null && typeof value !== "string")
    throw new UnreadableError("tool_manifest: expected a string or null");
  return value === null ? null : utf8Encode(value);
}

function readOptionalObject(object: JsonObject, name: string): JsonObject | null | "absent" {
  const value = object[name];
  if (value === undefined) return "absent";
  if (value !== null && !isJsonObject(value))
    throw new UnreadableError(`${name}: expected an object or null`);
  return value;
}

function readRecord(object: JsonObject): Receipt["record"] {
  const place = readOptionalObject(object, "record");
  if (place === "absent" || place === null) return "absent";
  if (!isRecordPlace(place)) throw new UnreadableError("record: not a place in a record");
  const given = readOptionalObject(object, "record_neighbours");
  return { place, neighbours: given === "absent" || given === null ? "absent" : readNeighbours(given) };
}

function readNeighbours(given: JsonObject): RecordNeighbours {
  const read = (name: string) => {
    const neighbour = readOptionalObject(given, name);
    if (neighbour === "absent" || neighbour === null) return null;
    return {
      previous: decodeHash(requireText(neighbour, "previous"), `${name}.previous`),
      payloadHash: decodeHash(requireText(neighbour, "payload_hash"), `${name}.payload_hash`),
    };
  };
  const head = requireObject(given, "head");
  return {
    before: read("before"),
    after: read("after"),
    head: {
      sequence: requireIndex(head, "sequence"),
      link: decodeHash(requireText(head, "link"), "head.link"),
    },
  };
}

function requireObjects(object: JsonObject, name: string): JsonObject[] {
  const value = object[name];
  if (!Array.isArray(value) || !value.every(isJsonObject))
    throw new UnreadableError(`${name}: expected a list of objects`);
  return value;
}

/** Requires the form: a reader believes what it reads there. */
function requireBound(bounds: JsonObject, name: string): void {
  if (bounds[name] === null) return;
  const bound = requireObject(bounds, name);
  requireText(bound, "at");
  requireTexts(bound, "by");
}

/** Time evidence by others; the bounds that the response derives from it are not believed. */
function readTimeEvidence(object: JsonObject): Receipt["time"] {
  if (object["time_bounds"] === undefined) return "absent";
  const bounds = requireObject(object, "time_bounds");
  const checkpoint = bounds["checkpoint"];
  if (checkpoint !== null && typeof checkpoint !== "string")
    throw new UnreadableError("time_bounds.checkpoint: expected a string or null");
  for (const name of ["made_after", "made_before"]) requireBound(bounds, name);
  const anchors = requireObjects(bounds, "anchors").map((anchor) => ({
    treeSize: requireIndex(anchor, "tree_size"),
    inclusionProof: requireTexts(anchor, "inclusion_proof").map((hash) =>
      decodeBase64(hash, "time_bounds.anchors.inclusion_proof", 32),
    ),
    checkpoint: requireText(anchor, "checkpoint"),
    timeStamps: requireObjects(anchor, "time_stamps").map((stamp) => ({
      tsa: requireText(stamp, "tsa"),
      response: decodeBase64(requireText(stamp, "response"), "time_bounds.anchors.time_stamps.response"),
    })),
  }));
  return { checkpoint, anchors };
}

/** GET has it as `zk_proof`, POST as `zk.proof`; in a file with both, one would not be looked at. */
function readZkProof(object: JsonObject): JsonObject | null | "absent" {
  const zk = readOptionalObject(object, "zk");
  if (zk === "absent" || zk === null) return readOptionalObject(object, "zk_proof");
  if (object["zk_proof"] !== undefined) throw new UnreadableError("zk and zk_proof: expected one of them");
  return requireObject(zk, "proof");
}

export type Evidence =
  | { kind: "attestation"; object: JsonObject; receipt: Receipt }
  | { kind: "bundle"; receipt: Receipt; bundle: LogBundle }
  | { kind: "human_authorization"; object: JsonObject; answer?: JsonObject; shown?: ShownContent }
  | { kind: "presentation"; object: JsonObject }
  | { kind: "tlog_proof"; file: string };

export type EvidenceKind = Evidence["kind"];

const unknownKind =
  "neither an attestation, a Sigstore bundle, a human_authorization, a zero-knowledge presentation nor a tlog-proof";

/** `input`: text or a parsed JSON value. Throws {@link UnreadableError}. */
export function parseEvidence(input: unknown): Evidence {
  if (typeof input === "string" && input.startsWith("c2sp.org/tlog-proof@")) return readTlogProof(input);
  // A parser's message about a picture or a letter would help nobody.
  if (typeof input === "string" && !/^\s*[[{]/.test(input)) throw new UnreadableError(unknownKind);
  const object = readObject(input);
  if (typeof object["mediaType"] === "string") return readBundle(object);
  if (object["type"] === "human_authorization") return { kind: "human_authorization", object };
  if ("presentation_header" in object && "disclosed" in object) return { kind: "presentation", object };
  if (isAttestationAnswer(object)) return { kind: "attestation", object, receipt: parseReceipt(object) };
  const inner = object["human_authorization"];
  if (isJsonObject(inner) && "request_id" in object) return readAuthorizationAnswer(object, inner);
  throw new UnreadableError(unknownKind);
}

/** The answer of GET /v1/authorize/{id}; with the owner's key it says what the approval page showed. */
function readAuthorizationAnswer(answer: JsonObject, object: JsonObject): Evidence {
  const evidence = parseEvidence(object);
  if (evidence.kind !== "human_authorization") return evidence;
  if (!("context" in answer || "context_salt" in answer)) return { ...evidence, answer };
  const { context = null, context_salt = null, agent_name = null, organization_name = null } = answer;
  const { requested_by = null, required_approvers: groups = [] } = answer;
  const group_names = Array.isArray(groups)
    ? groups.map((group) => (isJsonObject(group) ? (group["name"] ?? null) : null))
    : groups;
  const names = { agent_name, organization_name, group_names };
  const { before, questions } = answer;
  const shown: ShownContent = { context, context_salt, ...names, requested_by };
  if (isJsonObject(before)) {
    const { context = null, context_salt = null } = before;
    shown.before = { context, context_salt };
  }
  if (questions !== undefined) shown.questions = questions;
  return { ...evidence, answer, shown };
}

function readTlogProof(file: string): Evidence {
  try {
    parseTlogProof(file);
  } catch {
    throw new UnreadableError("a malformed tlog-proof");
  }
  return { kind: "tlog_proof", file };
}

function readBundle(object: JsonObject): Evidence {
  try {
    const bundle = parseBundle(JSON.stringify(object));
    return { kind: "bundle", bundle, receipt: buildReceipt(bundle) };
  } catch (error) {
    throw new UnreadableError(`a bundle that this service does not write: ${(error as Error).message}`);
  }
}

/** A bundle carries neither the signature over the bare payload nor what the verdicts were drawn from. */
function buildReceipt({ envelope, leaf, index, proof, checkpoint }: LogBundle): Receipt {
  const predicate = parseActionStatement(envelope.payload)?.predicate;
  return {
    attestationId: predicate?.attestation_id ?? "",
    agentSlug: String(predicate?.request["agent_slug"] ?? ""),
    payload: envelope.payload,
    isErased: false,
    payloadHash: sha256(envelope.payload),
    signature: "absent",
    envelopeSignature: envelope.signature,
    keyId: predicate?.key_id ?? "",
    isPublic: predicate?.is_public ?? false,
    log: { index, treeSize: readSize(checkpoint), entry: leaf, inclusionProof: [...proof], checkpoint },
    toolManifest: "absent",
    humanAuthorization: "absent",
    zkProof: "absent",
    record: "absent",
    time: "absent",
  };
}

/** The bundle's own tree size was found equal to the checkpoint's when it was parsed. */
function readSize(checkpoint: string): number {
  return Number(checkpoint.split("\n")[1]);
}
