/** When a record was made, in words: what others' clocks say about it. */
export const dayMs = 86_400_000;

export interface ShownBound {
  /** ISO 8601 */
  at: string;
  by: readonly string[];
}

/** ISO 8601 in UTC as people write it, to the second. */
export const readableTime = (iso: string): string => iso.replace("T", " ").replace(/(?:\.\d+)?Z$/, " UTC");

const show = ({ at, by }: ShownBound) => `${readableTime(at)} (${by.join(", ")})`;

export function describeBounds(after: ShownBound | null, before: ShownBound | null): string {
  if (after !== null && before !== null) return `Made between ${show(after)} and ${show(before)}.`;
  if (after !== null) return `Made after ${show(after)}. Nobody else has confirmed when at the latest.`;
  if (before !== null) return `Made before ${show(before)}. Nobody else has confirmed when at the earliest.`;
  return "Only Countersign says when this was made. Nobody else has confirmed the time.";
}

/** Accepts a time only in the service's format: RFC 3339 in UTC with milliseconds. */
export function isTime(value: unknown): value is string {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false;
  const date = new Date(value);
  return !Number.isNaN(date.getTime()) && date.toISOString() === value;
}
