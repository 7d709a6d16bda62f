/**
 * The grade of an attestation's human approval (docs/wire.md, Attest): none, the caller's claim, or what an embedded
 * object proves, which must be one that this service issued, unchanged and for this use.
 */
import { and, desc, eq, gt, isNotNull, isNull, or, sql } from "drizzle-orm";
import { type KeyPrincipal, mayReach } from "#lib/api/http/context";
import type { AttestBody } from "#lib/api/schemas/attest";
import { attestations, authorizationRequests } from "#lib/db/schema";
import { AppError, type ErrorName, fieldError } from "#lib/errors";
import { isSameAgentKey } from "#lib/protocol/approval/approval";
import type { ApprovalStop } from "#lib/protocol/approval/approval-end";
import { describeBacking } from "#lib/protocol/approval/assign-groups";
import { hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalJson,
  isJsonObject,
  type JsonObject,
} from "#lib/protocol/encoding/canonical-json";
import type { HumanApproval } from "#lib/protocol/statement/human-approval";
import type { Context } from "#lib/services/approvals/context";
import { judgeByRulesNow, type RuleStop, rulesSeen } from "#lib/services/approvals/request/rules-now";

/* Words for why an approval can't be claimed or used: the database's function `why_unusable` names the reasons. */

export const whyUnusable = sql<string | null>`why_unusable(${authorizationRequests})`;
/** Null if the standing approval that it rests on can be used, and without one. */
export const whyStopped = sql<ApprovalStop["reason"] | null>`why_stopped(${authorizationRequests})`;

const reasons: Record<string, readonly [ErrorName, string]> = {
  standing: ["authorization_mismatch", "is a standing approval: make a request for each use of it"],
  used: ["authorization_already_used", "already backs another attestation; ask for a new authorization"],
  revoked: ["authorization_revoked", "was taken back, so no action may run on it"],
  ended: ["authorization_ended", "could be used for a while, which is over; ask for a new authorization"],
  other_key: ["authorization_mismatch", "is for another agent key than the one registered now"],
  frozen: ["agent_frozen", "is of an agent that its organization has frozen"],
  grant_revoked: ["authorization_revoked", "is a use of a standing approval that was taken back"],
  grant_ended: ["authorization_ended", "is a use of a standing approval that is over"],
  code_changed: [
    "authorization_mismatch",
    "is a use of a standing approval for another code hash than the one registered now",
  ],
};

export function unusable(why: unknown): AppError {
  const [code, words] = reasons[String(why)] ?? [];
  if (code === undefined || words === undefined) throw new Error(`an approval that can't be used: ${why}`);
  return fieldError(code, "human_authorization", words);
}

/** Error of an attestation that rules don't allow any more. */
const overruled = ({ reason, words }: RuleStop): AppError =>
  fieldError(
    reason === "rule_forbids" ? "authorization_forbidden" : "authorization_insufficient",
    "human_authorization",
    `can't be used: ${words}`,
  );

/** Reason why this approval can't be claimed; null if the reason only matters on use. */
export function unclaimable(why: string | null): AppError | null {
  const [code, words] = reasons[String(why)] ?? [];
  return code === undefined ? null : new AppError(code, `this approval ${words}; do not run the action`);
}

export interface PreparedApproval {
  approval: HumanApproval;
  authorization: UsedAuthorization | null;
  /** Set for what a run had claimed before. */
  stop: ApprovalStop | null;
}

export interface UsedAuthorization {
  requestId: string;
  object: Uint8Array;
  rulesVersion: number;
}

const field = "human_authorization";

function text(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

/** Null for what was never issued. After erasure the object is gone; that it has been used is not. */
async function findIssued(context: Context, principal: KeyPrincipal, requestId: string) {
  const [row] = await context.database.db
    .select({
      organizationId: authorizationRequests.organization_id,
      api_key_id: authorizationRequests.api_key_id,
      object: authorizationRequests.human_authorization,
      log: authorizationRequests.decision_log,
      attestationId: authorizationRequests.attestation_id,
      claimedAt: authorizationRequests.claimed_at,
      why: whyUnusable,
      stopped: whyStopped,
      ...rulesSeen,
    })
    .from(authorizationRequests)
    .where(eq(authorizationRequests.id, requestId));
  if (row?.object) return { ...row, object: row.object };
  if (row?.attestationId && row.organizationId === principal.organizationId) throw unusable("used");
  return null;
}

/** The object as the service answers it: what was signed, and beside it the decision's place in the log. */
export function assembleHumanAuthorization(signed: Uint8Array, log: string | null): JsonObject {
  const object = JSON.parse(utf8Decode(signed)) as JsonObject;
  return log === null ? object : { ...object, log: JSON.parse(log) as JsonObject };
}

function checkFit(
  body: AttestBody,
  principal: KeyPrincipal,
  registeredKey: string | null,
  organizationId: string,
  request: JsonObject,
): void {
  const misfits = [
    [organizationId === principal.organizationId, "was issued to another organization"],
    [
      text(request, "agent_slug").toLowerCase() === body.agent_slug.toLowerCase(),
      "is for another agent_slug",
    ],
    [isSameAgentKey(request, registeredKey), "is for another agent key than the one registered now"],
    [text(request, "action") === body.action, "is for another action"],
    [
      request["inputs_hash"] === undefined || request["inputs_hash"] === body.inputs_hash,
      "is for another inputs_hash",
    ],
  ] as const;
  const mismatch = misfits.find(([fits]) => !fits);
  if (mismatch) throw fieldError("authorization_mismatch", field, mismatch[1]);
}

type Issued = NonNullable<Awaited<ReturnType<typeof findIssued>>>;

/** Throws why it can't be used, unless a run had claimed it before the stop. */
async function judgeUse(context: Context, requestId: string, issued: Issued) {
  if (issued.why !== null) throw unusable(issued.why);
  const { version, stop: ruled } = await judgeByRulesNow(context, requestId, issued);
  if (issued.claimedAt === null) {
    if (ruled !== null) throw overruled(ruled);
    return { version, stop: null };
  }
  const reason = issued.stopped ?? ruled?.reason;
  return { version, stop: reason ? { reason, claimed_at: issued.claimedAt.toISOString() } : null };
}

async function prepareProof(
  context: Context,
  principal: KeyPrincipal,
  body: AttestBody,
  registeredKey: string | null,
  given: JsonObject,
): Promise<PreparedApproval> {
  const givenRequest = given["request"];
  const issued = isJsonObject(givenRequest)
    ? await findIssued(context, principal, text(givenRequest, "request_id"))
    : null;
  if (issued === null) throw fieldError("authorization_unknown", field, "was not issued by this service");
  const object = assembleHumanAuthorization(issued.object, issued.log);
  if (canonicalJson(object) !== canonicalJson(given)) {
    throw fieldError("authorization_altered", field, "differs from the authorization that was issued");
  }
  const request = object["request"] as JsonObject;
  checkFit(body, principal, registeredKey, issued.organizationId, request);
  if (!mayReach(principal, "attest", issued)) throw notApprovedForHook();
  const requestId = text(request, "request_id");
  const { version: rulesVersion, stop } = await judgeUse(context, requestId, issued);
  const approval = describeBacking(object);
  if (approval === null) throw new Error("an issued authorization is none");
  return {
    approval,
    authorization: { requestId, object: canonicalBytes(object), rulesVersion },
    stop,
  };
}

const notApprovedForHook = () =>
  new AppError(
    "insufficient_scope",
    "a key with the permission hook attests only what was approved at its own request: send that human_authorization; one with record attests only without",
  );

const claimDays = 2;
const maxClaims = 1_000;

/**
 * Lets a key with the permission `record` attest without an approval. One with the permission `hook` alone records so, as not
 * approved, what ran otherwise than it was approved, and the end of what it has attested: only for the agent and the action
 * of a request of its own that it has claimed and not attested, or attested as this one's `parent`, with the same inputs.
 */
async function requireOwnClaim(context: Context, principal: KeyPrincipal, body: AttestBody): Promise<void> {
  if (body.human_approved === true) throw notApprovedForHook();
  if (principal.scopes.includes("record")) return;
  const requests = authorizationRequests;
  const since = new Date(context.clock().getTime() - claimDays * 24 * 60 * 60 * 1_000);
  const parentId = body.parent?.id;
  const claimed = await context.database.db
    .select({ request: requests.request, attested: attestations.payload_hash })
    .from(requests)
    .leftJoin(attestations, eq(attestations.id, requests.attestation_id))
    .where(
      and(
        eq(requests.organization_id, principal.organizationId),
        gt(requests.created_at, since),
        eq(requests.api_key_id, principal.keyId),
        isNotNull(requests.claimed_at),
        or(isNull(requests.attestation_id), parentId ? eq(requests.attestation_id, parentId) : undefined),
      ),
    )
    .orderBy(desc(requests.created_at))
    .limit(maxClaims);
  const isClaimed = claimed.some(({ request, attested }) => {
    const asked = JSON.parse(utf8Decode(request)) as JsonObject;
    const isSameAgent = text(asked, "agent_slug").toLowerCase() === body.agent_slug.toLowerCase();
    const isEnd =
      text(asked, "inputs_hash") === body.inputs_hash &&
      attested !== null &&
      hexEncode(attested) === body.parent?.payload_hash;
    return isSameAgent && text(asked, "action") === body.action && (attested === null || isEnd);
  });
  if (!isClaimed) throw notApprovedForHook();
}

/** `registeredKey`: the agent's, in base64; null if none is registered. */
export async function prepareApproval(
  context: Context,
  principal: KeyPrincipal,
  body: AttestBody,
  registeredKey: string | null,
): Promise<PreparedApproval> {
  const given = body.human_authorization ?? null;
  if (given !== null) return prepareProof(context, principal, body, registeredKey, given);
  if (!principal.scopes.includes("attest")) await requireOwnClaim(context, principal, body);
  if (body.human_approved === true) {
    return {
      approval: { method: "hash", approver_hash: body.human_approver_hash ?? null },
      authorization: null,
      stop: null,
    };
  }
  return { approval: { method: "none" }, authorization: null, stop: null };
}
