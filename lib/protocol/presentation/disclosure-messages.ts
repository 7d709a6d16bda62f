/**
 * The 24 messages of an attestation: a published, pure function of its canonical payload, so that whoever
 * has the payload can make them again and payload and proof cannot say different things.
 *
 * Message i is the RFC 8785 text of `[name, value]`, for example `["human_approved",true]`. What is absent
 * is null, always: a fixed count and order, so that the shape of a proof gives nothing away.
 */
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import {
  type HumanApproval,
  isBacked,
  isHumanApproved,
  parseActionStatement,
} from "#lib/protocol/statement/statement";
import { DISCLOSURE_SCHEMA, MESSAGE_NAMES, type MessageName } from "./disclosure";

/** Throws TypeError if the bytes are not the canonical statement of an action. */
export function disclosureMessages(payload: Uint8Array): string[] {
  const statement = parseActionStatement(payload);
  if (statement === null) throw new TypeError("the payload is not a canonical action statement");
  const { request, registered, verdicts, human_approval: approval, ...predicate } = statement.predicate;
  const values: Record<MessageName, JsonValue> = {
    schema: DISCLOSURE_SCHEMA,
    attestation_id: predicate.attestation_id,
    payload_hash: hexEncode(sha256(payload)),
    issued_at: predicate.timestamp,
    issued_date: predicate.timestamp.slice(0, "2026-11-21".length),
    issued_month: predicate.timestamp.slice(0, "2026-11".length),
    agent_slug: request["agent_slug"] ?? null,
    agent_public_key: registered.agent_public_key,
    organization: predicate.organization,
    action: request["action"] ?? null,
    inputs_hash: request["inputs_hash"] ?? null,
    code_hash: request["code_hash"] ?? null,
    model_id: request["model_id"] ?? null,
    metadata: request["metadata"] ?? null,
    tools_used: request["tools_used"] ?? null,
    agent_authenticated: verdicts.agent_authenticated,
    code_hash_verified: verdicts.code_hash_verified,
    tools_authorized: verdicts.tools_authorized,
    ...humanApprovalValues(approval),
    is_public: predicate.is_public,
    blinding: predicate.salt,
  };
  return MESSAGE_NAMES.map((name) => canonicalJson([name, values[name]]));
}

function humanApprovalValues(approval: HumanApproval) {
  const proven = isBacked(approval) ? approval : null;
  return {
    human_approved: isHumanApproved(approval),
    human_approval_method: approval.method,
    human_approval_level: proven?.level ?? null,
    human_approval_environment: proven?.environment ?? null,
  };
}

/** The value of message `index`; undefined if the text is not the canonical `[name, value]` of that index. */
export function parseMessage(index: number, text: string): JsonValue | undefined {
  const name = MESSAGE_NAMES[index];
  try {
    const pair: unknown = JSON.parse(text);
    if (name === undefined || !Array.isArray(pair) || pair.length !== 2 || pair[0] !== name) return undefined;
    const value = pair[1] as JsonValue;
    return canonicalJson([name, value]) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
