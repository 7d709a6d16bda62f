/** Attention of a group, by week: what it decided and how fast. Never by person. */
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import type { ApprovalRequest } from "./approval";

/** A group of fewer people says too much about each of them. */
export const minGroupPeople = 3;
/** Faster decisions can't have been read. */
const hastyMs = 3_000;

export interface AttentionWeek {
  /** Its Monday, in UTC. */
  week: string;
  approved: number;
  denied: number;
  within_3_s: number;
  /** From the request to the last decision on it, by nearest rank. */
  median_ms: number | null;
  p90_ms: number | null;
  /** Nothing signed says these two. */
  amended: number;
  expired: number;
}

export interface GroupAttention {
  group: string;
  name: string;
  since: string;
  weeks: AttentionWeek[];
}

/** A request that people of these groups approved or denied. */
export interface GroupDecision {
  groups: string[];
  outcome: "approved" | "denied";
  decided_at: string;
  waited_ms: number;
}

/** Null for any other entry: what nobody was asked about is decided in the moment of the request. */
export function readGroupDecision(
  { isDecision, decision, time }: PackEntry,
  { request }: JsonObject,
): GroupDecision | null {
  if (!isDecision || time === null || !isJsonObject(request)) return null;
  const { required_approvers: required, created_at, amends } = request as unknown as ApprovalRequest;
  const waited = Date.parse(time) - Date.parse(created_at);
  if ((decision !== "approved" && decision !== "denied") || amends !== undefined || !(waited > 0))
    return null;
  if (required.length === 0) return null;
  return {
    groups: required.map(({ group }) => group),
    outcome: decision,
    decided_at: time,
    waited_ms: waited,
  };
}

const dayMs = 86_400_000;
/** 1970 began on a Thursday. */
const mondayMs = 4 * dayMs;

function toWeek(time: string): string {
  const passed = (Date.parse(time) - mondayMs) % (7 * dayMs);
  return new Date(Date.parse(time) - passed).toISOString().slice(0, 10);
}

const atRank = (sorted: readonly number[], share: number) =>
  sorted[Math.ceil(share * sorted.length) - 1] ?? null;

/** `ended`: amended and expired requests of each week. */
export function measureGroup(
  decisions: readonly GroupDecision[],
  { group, since }: Pick<GroupAttention, "group" | "since">,
  { from, to }: { from: string; to: string },
  ended: ReadonlyMap<string, Pick<AttentionWeek, "amended" | "expired">>,
): AttentionWeek[] {
  const own = decisions.filter(
    ({ groups, decided_at: at }) => groups.includes(group) && at >= since && at >= from && at < to,
  );
  const weeks = new Set([...own.map(({ decided_at }) => toWeek(decided_at)), ...ended.keys()]);
  return [...weeks].sort().map((week) => {
    const decided = own.filter((one) => toWeek(one.decided_at) === week);
    const waited = decided.map(({ waited_ms }) => waited_ms).sort((one, other) => one - other);
    const count = (wanted: GroupDecision["outcome"]) =>
      decided.filter(({ outcome }) => outcome === wanted).length;
    return {
      week,
      approved: count("approved"),
      denied: count("denied"),
      within_3_s: waited.filter((ms) => ms <= hastyMs).length,
      median_ms: atRank(waited, 0.5),
      p90_ms: atRank(waited, 0.9),
      amended: ended.get(week)?.amended ?? 0,
      expired: ended.get(week)?.expired ?? 0,
    };
  });
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

/** Null for a document that is none. */
export function parseAttention({ version, groups }: JsonObject): GroupAttention[] | null {
  if (version !== 1 || !Array.isArray(groups)) return null;
  const isGroup = (one: unknown) =>
    isJsonObject(one) &&
    [one["group"], one["name"], one["since"]].every((text) => typeof text === "string") &&
    Array.isArray(one["weeks"]) &&
    one["weeks"].every(
      (week) =>
        isJsonObject(week) &&
        typeof week["week"] === "string" &&
        isCount(week["amended"]) &&
        isCount(week["expired"]),
    );
  return groups.every(isGroup) ? (groups as unknown as GroupAttention[]) : null;
}

/** Null for no decisions. */
export const hastyShare = ({ approved, denied, within_3_s: hasty }: AttentionWeek): number | null =>
  approved + denied === 0 ? null : hasty / (approved + denied);
