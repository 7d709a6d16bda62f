/** The checks of what the payload claims: the agent's identity, the human's approval, the zero-knowledge proof. */

import { isSameAgentKey } from "#lib/protocol/approval/approval";
import { isStopOfGrant } from "#lib/protocol/approval/approval-end";
import { describeBacking } from "#lib/protocol/approval/assign-groups";
import { base64Decode, hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import {
  emptyRecord,
  extendRecord,
  isRecordPlace,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { requireString } from "#lib/protocol/statement/dsse";
import { type BackedApproval, isBacked } from "#lib/protocol/statement/human-approval";
import { checkAgentSignature, checkCodeHash, checkTools } from "#lib/protocol/statement/identity-checks";
import { fail, pass, skip } from "#lib/protocol/statement/outcome";
import type { CostlyChecks } from "#lib/protocol/statement/receipt";
import type { ActionPredicate, ActionStatement, Verdict } from "#lib/protocol/statement/statement";
import { parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { miss, type RecordOutcome, type Subject, withoutPayload } from "./record-checks";

const verdictWords = { true: "true", false: "false", null: "nothing to compare" } as const;

/** A recorded false that is still false passes: the record is honest about it. */
function compareVerdict(signed: Verdict, recomputed: Verdict): RecordOutcome {
  if (signed !== recomputed) {
    const values = { recorded: verdictWords[`${signed}`], recomputed: verdictWords[`${recomputed}`] };
    return fail("verdict_mismatch", values);
  }
  return signed === null ? skip("nothing_to_compare") : pass(`recorded ${signed}, recomputed ${signed}`);
}

function recheckIdentity(
  subject: Subject,
  recheck: (statement: ActionStatement) => RecordOutcome,
): RecordOutcome {
  if (subject.payload === null) return withoutPayload(subject);
  return subject.statement === null ? fail("statement_malformed") : recheck(subject.statement);
}

/** `agent_signature` is of a key that anyone may have registered: a verifier that is given must be as strict as ours. */
export function checkAgent(subject: Subject): RecordOutcome {
  return recheckIdentity(subject, ({ predicate }) => {
    const { request, agent_signature, registered, verdicts } = predicate;
    const { agent_public_key } = registered;
    const recomputed = checkAgentSignature(request, agent_signature, agent_public_key, subject.verify);
    return compareVerdict(verdicts.agent_authenticated, recomputed);
  });
}

export function checkCode(subject: Subject): RecordOutcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) =>
    compareVerdict(verdicts.code_hash_verified, checkCodeHash(request, registered.code_hash)),
  );
}

export function checkToolsUsed(subject: Subject): RecordOutcome {
  return recheckIdentity(subject, ({ predicate: { request, registered, verdicts } }) => {
    const { toolManifest } = subject.receipt;
    const manifest = toolManifest === "absent" ? null : toolManifest;
    const recomputed = checkTools(request, registered.tool_manifest_hash, manifest);
    if (recomputed !== null && toolManifest === "absent") return miss("tool_manifest_absent");
    return compareVerdict(verdicts.tools_authorized, recomputed);
  });
}

/** Words for a field that differs, as used in a rejection's text. */
const backingWords: Record<keyof BackedApproval, string> = {
  method: "who decided",
  authorization_hash: "hash",
  request_hash: "request hash",
  nullifier_hashes: "nullifiers",
  approver_ids: "approvers",
  environment: "environment",
  inputs_bound: "binding to inputs",
  level: "level",
};

interface LogPlace {
  origin: string;
  index: number;
}

/** The link after the decision, of which the object has no more than the leaf; null for what is none. */
function linkAfter({ sequence, previous }: RecordPlace, entry: JsonValue | undefined): string | null {
  try {
    const { payloadHash } = parseLogLeaf(base64Decode(requireString(entry)));
    return hexEncode(extendRecord({ sequence: sequence - 1, link: hexDecode(previous) }, payloadHash).link);
  } catch {
    return null;
  }
}

/**
 * The decision has an earlier place in the same record and, if it is in the same log, in that: whatever clocks said. What of
 * the chain is here fits: the record begins with number 1, and the next number names the link after the decision.
 */
function isDecidedBefore(
  { log }: JsonObject,
  { agent_id, sequence, previous }: RecordPlace,
  own: LogPlace,
): boolean {
  const { record: place, origin, index, entry } = isJsonObject(log) ? log : {};
  if (!isRecordPlace(place) || place.agent_id !== agent_id || place.sequence >= sequence) return false;
  if (place.sequence === 1 && place.previous !== hexEncode(emptyRecord(agent_id).link)) return false;
  if (place.sequence === sequence - 1 && previous !== linkAfter(place, entry)) return false;
  return origin !== own.origin || (typeof index === "number" && index < own.index);
}

/** Compares the payload's account of the authorization with the embedded object; undefined if they fit. */
function findMismatch(
  { predicate }: ActionStatement,
  approval: BackedApproval,
  object: JsonObject,
  own: LogPlace,
) {
  const { request, registered, approval_stopped: stop } = predicate;
  const { request: asked, usable_until: until } = object;
  const backing = describeBacking(object);
  if (backing === null || !isJsonObject(asked)) return fail("authorization_malformed");
  const names = Object.keys(backingWords) as (keyof BackedApproval)[];
  const differs = names.find((name) => canonicalJson([approval[name]]) !== canonicalJson([backing[name]]));
  const facts: [string, boolean][] = [
    ["hash", backing.authorization_hash === request["human_authorization_hash"]],
    ["organization", asked["organization"] === predicate.organization],
    ["agent", String(asked["agent_slug"]).toLowerCase() === String(request["agent_slug"]).toLowerCase()],
    ["agent's key", isSameAgentKey(asked, registered.agent_public_key)],
    ["action", asked["action"] === request["action"]],
    ["inputs", asked["inputs_hash"] === undefined || asked["inputs_hash"] === request["inputs_hash"]],
    ["standing approval", (asked["grant"] ?? null) === null],
    ["freeze", predicate.agent_frozen_at === undefined],
    ["stop", !stop || !isStopOfGrant(stop) || approval.method === "standing_approval"],
    ["record", isDecidedBefore(object, predicate.record, own)],
  ];
  const mismatch = differs === undefined ? facts.find(([, fits]) => !fits)?.[0] : backingWords[differs];
  if (mismatch !== undefined) return fail("authorization_mismatch", { field: mismatch });
  const isClaimedLate = typeof until === "string" && stop !== undefined && stop.claimed_at > until;
  if (typeof until !== "string" || (predicate.timestamp <= until && !isClaimedLate)) return undefined;
  return fail("approval_ended", { until });
}

/** Checks that the payload records the approval that the request states: the agent may have signed it. */
function isAsAsked({ request, human_approval: approval }: ActionPredicate): boolean {
  const { human_approved: isSaid, human_approver_hash: approver = null } = request;
  if (isBacked(approval) !== (request["human_authorization_hash"] !== undefined)) return false;
  if (isBacked(approval)) return isSaid !== false;
  return approval.method === "hash"
    ? isSaid === true && approval.approver_hash === approver
    : isSaid !== true;
}

export async function checkHumanAuthorization(
  subject: Subject,
  costly: CostlyChecks,
): Promise<RecordOutcome> {
  const { receipt, statement } = subject;
  if (subject.payload === null) return withoutPayload(subject);
  if (statement === null) return fail("statement_malformed");
  const approval = statement.predicate.human_approval;
  const object = receipt.humanAuthorization;
  if (!isAsAsked(statement.predicate))
    return fail("field_contradicted", { field: "human_approval", source: "the request" });
  if (!isBacked(approval)) {
    if (object !== null && object !== "absent") return fail("authorization_unexpected");
    return skip(approval.method === "hash" ? "approval_asserted_only" : "approval_not_recorded");
  }
  if (object === "absent") return miss("authorization_absent");
  if (object === null) return fail("authorization_missing");
  const own = { origin: subject.trust.logKey.name, index: receipt.log.index };
  return findMismatch(statement, approval, object, own) ?? costly.verifyHumanAuthorization(object);
}

export async function checkZkProof(subject: Subject, costly: CostlyChecks): Promise<RecordOutcome> {
  const { receipt, payload, statement } = subject;
  const isNamed = statement?.predicate.zk !== undefined;
  if (receipt.zkProof === "absent" && isNamed) return miss("zk_proof_absent");
  if (receipt.zkProof === "absent" || receipt.zkProof === null || receipt.zkProof === undefined) {
    if (receipt.payload === "erased") return withoutPayload(subject);
    return isNamed
      ? fail("zk_proof_missing")
      : skip(payload === null ? "zk_proof_not_shown" : "zk_not_enabled");
  }
  if (statement !== null && !isNamed) return fail("zk_proof_unexpected");
  const expected = { attestationId: receipt.attestationId, payload };
  const { outcome } = await costly.verifyZkProof(receipt.zkProof, expected);
  return outcome.status === "not_applicable" && payload === null ? { ...outcome, isMissing: true } : outcome;
}
