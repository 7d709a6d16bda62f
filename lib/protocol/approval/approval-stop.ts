/** A stop that came after a run had claimed an approval: what ran may have happened, so it is attested, and says so. */
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { isTime } from "#lib/protocol/time/iso-time";

/** Whatever backs the attestation could not have been claimed any more. */
export const approvalStops = {
  grant_revoked: "its standing approval was taken back",
  grant_ended: "its standing approval was over",
  code_changed: "its standing approval is for another code hash than the registered one",
  rule_forbids: "the organization's rules forbade it",
  rule_demands_more: "the organization's rules asked for more approval than it has",
} as const;

export type ApprovalStop = {
  reason: keyof typeof approvalStops;
  claimed_at: string;
};

const isStopReason = (value: unknown): value is ApprovalStop["reason"] =>
  typeof value === "string" && Object.hasOwn(approvalStops, value);

/** True if only a use of a standing approval is stopped so. */
export const isStopOfGrant = ({ reason }: ApprovalStop) => !reason.startsWith("rule_");

export const isApprovalStop = (value: unknown): value is ApprovalStop =>
  isJsonObject(value) && isStopReason(value["reason"]) && isTime(value["claimed_at"]);
