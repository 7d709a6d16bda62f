/** The kinds of files that the verifier takes, distinguished by their shape, which decides nothing else. */

import type { ShownContent } from "#lib/protocol/approval/shown-content";
import { sha256 } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { type LogBundle, parseBundle } from "#lib/protocol/statement/bundle";
import type { Receipt } from "#lib/protocol/statement/receipt";
import { parseActionStatement } from "#lib/protocol/statement/statement";
import { parseTlogProof } from "#lib/protocol/tlog/tlog-proof";
import { isAttestationAnswer, parseReceipt } from "./parse-receipt";
import { readObject, UnreadableError } from "./read-json";

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
  return { ...evidence, answer, shown: { context, context_salt, ...names, requested_by } };
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
    return { kind: "bundle", bundle, receipt: receiptOf(bundle) };
  } catch (error) {
    throw new UnreadableError(`a bundle that this service does not write: ${(error as Error).message}`);
  }
}

/** A bundle carries neither the signature over the bare payload nor what the verdicts were drawn from. */
function receiptOf({ envelope, leaf, index, proof, checkpoint }: LogBundle): Receipt {
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
    log: { index, treeSize: sizeOf(checkpoint), entry: leaf, inclusionProof: [...proof], checkpoint },
    toolManifest: "absent",
    humanAuthorization: "absent",
    zkProof: "absent",
    record: "absent",
    time: "absent",
  };
}

/** The bundle's own tree size was found equal to the checkpoint's when it was parsed. */
function sizeOf(checkpoint: string): number {
  return Number(checkpoint.split("\n")[1]);
}
