/** A counter-offer may differ from the request that it changes only where the agent allowed it (docs/decisions/0052). */
import { isLower } from "#lib/protocol/approval/amendment";
import {
  type ApprovalRequest,
  type HumanAuthorization,
  isPasskeyApproval,
  requestHash,
} from "#lib/protocol/approval/approval";
import { canonicalJson, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type Fault, fault } from "#lib/protocol/statement/outcome";

/** Fields of the old request that stay. The rest is compared by itself, or is new with every request. */
const kept = [
  "origin",
  "organization",
  "agent_slug",
  "agent_public_key",
  "action",
  "tool",
  "details",
  "grant",
  "usable_for_seconds",
  "expires_at",
] as const satisfies (keyof ApprovalRequest)[];

const asKeeper = ["requester_id", "requester_may_approve"] as const satisfies (keyof ApprovalRequest)[];

const differs = (one: ApprovalRequest, other: ApprovalRequest) => (name: keyof ApprovalRequest) =>
  canonicalJson((one[name] ?? null) as JsonValue) !== canonicalJson((other[name] ?? null) as JsonValue);

const isThereOnce = (one: ApprovalRequest, other: ApprovalRequest) => (name: keyof ApprovalRequest) =>
  (one[name] === undefined) !== (other[name] === undefined);

const levels = ["none", "device", "orb"] as const;

function asksFewer(now: ApprovalRequest, before: ApprovalRequest): boolean {
  const counts = new Map(now.required_approvers.map(({ group, count }) => [group, count]));
  return (
    now.approvals_required < before.approvals_required ||
    levels.indexOf(now.required_level) < levels.indexOf(before.required_level) ||
    before.required_approvers.some(
      ({ group, count }, at) =>
        // The names of the groups are hashed in this order.
        now.required_approvers[at]?.group !== group || (counts.get(group) ?? 0) < count,
    )
  );
}

/** Null if the counter-offer changes only what the old request allows. */
export function findAmendmentFault({
  request: now,
  original_request: before,
  approvals,
  decided_by,
}: Pick<HumanAuthorization, "request" | "original_request" | "approvals" | "decided_by">): Fault | null {
  const { amends } = now;
  if (amends === undefined || before === undefined) return fault("amendment_of_another");
  if (requestHash(before) !== amends.request_hash || before.request_id === now.request_id)
    return fault("amendment_of_another");
  const { fields } = amends;
  const unnamed = fields.find((field) => !before.amendable?.includes(field));
  if (unnamed !== undefined) return fault("amendment_not_allowed", { field: unnamed });
  if (fields.includes("amount") && !isLower(now.amount, before.amount))
    return fault("amendment_widens", { what: "the amount" });
  const isAsked = before.required_approvers.length > 0;
  const changed =
    [...kept, ...(fields.includes("amount") ? [] : (["amount"] as const)), ...(isAsked ? asKeeper : [])].find(
      differs(now, before),
    ) ?? (["inputs_hash", "entries_hash"] as const).find(isThereOnce(now, before));
  if (changed !== undefined) return fault("amendment_not_allowed", { field: changed });
  if (asksFewer(now, before) || decided_by.kind !== "people")
    return fault("amendment_widens", { what: "who has to approve" });
  if (now.created_at < before.created_at) return fault("amendment_of_another");
  const signers = approvals.filter(isPasskeyApproval).map(({ approver_id }) => approver_id);
  const isSigned = amends.by === undefined ? !isAsked : isAsked && signers.includes(amends.by);
  return isSigned ? null : fault("amender_absent");
}
