/**
 * Ends of an approval. One that is not taken back ends by itself: at its own end or its standing approval's, whichever is
 * earlier. A stop may come after a run had claimed it: what ran may have happened, so it is attested, and says so.
 */
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { isTime } from "#lib/protocol/time/time-words";

export interface Ends {
  readonly usable_until?: string | null | undefined;
  readonly grant?: { readonly expires_at: string } | null | undefined;
}

/** The time of the end; null if it is still usable at `now`: an approval at its end too, a standing approval before it. */
export function findEnd({ usable_until, grant }: Ends, now: string): string | null {
  const ends = [usable_until ?? null, grant?.expires_at ?? null].filter((end) => end !== null);
  const [end] = ends.toSorted();
  if (end === undefined) return null;
  const left = Date.parse(end) - Date.parse(now);
  return left < 0 || (grant && left === 0) ? end : null;
}

/** Reasons for which the attestation's backing could not have been claimed any more. */
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
