/** Time of a record, in words: what others' clocks say about it. */
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

const timePattern =
  /^\d{4}-(?!(?:0[2469]|11)-31|02-30)(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Accepts a time only in the service's format: RFC 3339 in UTC with milliseconds. */
export function isTime(value: unknown): value is string {
  if (typeof value !== "string" || !timePattern.test(value)) return false;
  if (value.slice(5, 10) !== "02-29") return true;
  const date = new Date(value);
  return !Number.isNaN(date.getTime()) && date.toISOString() === value;
}
