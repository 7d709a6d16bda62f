/**
 * From the answer of POST /v1/attest or GET /v1/verify/:id to what the verifier reads. Only fields that carry evidence
 * are taken; `valid`, `checks` and `independent_verification` are not. No schema of the contract is used, so that
 * later releases still read the receipts of every earlier one.
 */

import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { RecordNeighbours } from "#lib/protocol/record/agent-record";
import { isRecordPlace } from "#lib/protocol/record/agent-record";
import type { Receipt } from "#lib/protocol/statement/receipt";
import {
  decodeBase64,
  decodeHex,
  readObject,
  requireIndex,
  requireObject,
  requireText,
  requireTexts,
  UnreadableError,
} from "./read-json";

/** `json`: text or a parsed value. Throws {@link UnreadableError} for what is not such an answer. */
export function parseReceipt(json: unknown): Receipt {
  const object = readObject(json);
  return {
    attestationId: requireText(object, "attestation_id"),
    agentSlug: requireText(object, "agent_slug"),
    payload: readPayload(object),
    isErased: typeof object["erased_at"] === "string",
    payloadHash: decodeHex(requireText(object, "payload_hash"), "payload_hash", 32),
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

export function isAttestationAnswer(object: JsonObject): boolean {
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

export function readLogReceipt(log: JsonObject): Receipt["log"] {
  return {
    index: requireIndex(log, "index"),
    treeSize: requireIndex(log, "tree_size"),
    entry: decodeBase64(requireText(log, "entry"), "log.entry"),
    inclusionProof: requireTexts(log, "inclusion_proof").map((hash) =>
      decodeBase64(hash, "log.inclusion_proof", 32),
    ),
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
      previous: decodeHex(requireText(neighbour, "previous"), `${name}.previous`, 32),
      payloadHash: decodeHex(requireText(neighbour, "payload_hash"), `${name}.payload_hash`, 32),
    };
  };
  const head = requireObject(given, "head");
  return {
    before: read("before"),
    after: read("after"),
    head: {
      sequence: requireIndex(head, "sequence"),
      link: decodeHex(requireText(head, "link"), "head.link", 32),
    },
  };
}

function requireObjects(object: JsonObject, name: string): JsonObject[] {
  const value = object[name];
  if (!Array.isArray(value) || !value.every(isJsonObject))
    throw new UnreadableError(`${name}: expected a list of objects`);
  return value;
}

/** For its form alone: a reader believes what it reads there. */
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
