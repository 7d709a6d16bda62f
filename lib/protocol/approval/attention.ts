/** Attention of a group, by week: what it decided and how fast. Never by person. */
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { dayMs, isTime } from "#lib/protocol/time/time-words";

/** A group of fewer people says too much about each of them. */
export const minGroupPeople = 3;
/** Faster decisions can't have been read. */
const hastyMs = 3_000;

export interface AttentionWeek {
  /** Monday of the week, in UTC. */
  week: string;
  approved: number;
  denied: number;
  within_3_s: number;
  /** Time from the request to the last decision on it, by nearest rank. */
  median_ms: number | null;
  p90_ms: number | null;
  /** Unsigned, as are the fields below. */
  amended: number;
  expired: number;
  /** Decisions of each person on the approval page, by whether all of the request had been on the screen before. */
  read_to_end: number;
  not_read_to_end: number;
}

const statedNumbers = ["amended", "expired", "read_to_end", "not_read_to_end"] as const;
/** The service's word. */
export type StatedNumbers = Pick<AttentionWeek, (typeof statedNumbers)[number]>;

const noneStated: StatedNumbers = { amended: 0, expired: 0, read_to_end: 0, not_read_to_end: 0 };

export const pickStated = (week: StatedNumbers): StatedNumbers => {
  const { amended, expired, read_to_end, not_read_to_end } = week;
  return { amended, expired, read_to_end, not_read_to_end };
};

export const isAnyStated = (week: StatedNumbers): boolean => statedNumbers.some((name) => week[name] > 0);

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
  const { required_approvers: required, created_at, amends } = request;
  const waited = isTime(created_at) ? Date.parse(time) - Date.parse(created_at) : Number.NaN;
  if ((decision !== "approved" && decision !== "denied") || amends !== undefined || !(waited > 0))
    return null;
  if (!Array.isArray(required) || required.length === 0) return null;
  return {
    groups: required.flatMap((one) =>
      isJsonObject(one) && typeof one["group"] === "string" ? [one["group"]] : [],
    ),
    outcome: decision,
    decided_at: time,
    waited_ms: waited,
  };
}

/** 1970 began on a Thursday. */
const mondayMs = 4 * dayMs;

function toWeek(time: string): string {
  const passed = (Date.parse(time) - mondayMs) % (7 * dayMs);
  return new Date(Date.parse(time) - passed).toISOString().slice(0, 10);
}

const atRank = (sorted: readonly number[], share: number) =>
  sorted[Math.ceil(share * sorted.length) - 1] ?? null;

/** `stated`: of each week that has any. */
export function measureGroup(
  decisions: readonly GroupDecision[],
  { group, since }: Pick<GroupAttention, "group" | "since">,
  { from, to }: { from: string; to: string },
  stated: ReadonlyMap<string, StatedNumbers>,
): AttentionWeek[] {
  const own = decisions.filter(
    ({ groups, decided_at: at }) => groups.includes(group) && at >= since && at >= from && at < to,
  );
  const weeks = new Set([...own.map(({ decided_at }) => toWeek(decided_at)), ...stated.keys()]);
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
      ...(stated.get(week) ?? noneStated),
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
        statedNumbers.every((name) => isCount(week[name])),
    );
  return groups.every(isGroup) ? (groups as unknown as GroupAttention[]) : null;
}

/** Null if no page said. */
export const readShare = ({ read_to_end: read, not_read_to_end: not }: AttentionWeek): number | null =>
  read + not === 0 ? null : read / (read + not);

/** Null for no decisions. */
export const hastyShare = ({ approved, denied, within_3_s: hasty }: AttentionWeek): number | null =>
  approved + denied === 0 ? null : hasty / (approved + denied);
