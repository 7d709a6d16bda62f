/** When a message is tried again: the schedule of Standard Webhooks, with jitter. */

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;

/** Seconds after the first, second, … failed attempt. */
const pauses = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Receivers that are too busy to answer get twice the time, and a minute at least. */
const busy = new Set([429, 502, 504]);
const maxPauseSeconds = 24 * hour;

/** 0 to 1 */
export const randomShare = ({ random }: { random: (length: number) => Uint8Array }) =>
  new DataView(random(4).buffer.slice(0)).getUint32(0) / 2 ** 32;

export interface FailedAttempt {
  /** Counted with this one. */
  attempts: number;
  status: number | null;
  retryAfterSeconds: number | null;
}

/** Up to a tenth more or less. `random`: 0 to 1. Null after the last attempt. */
export function findPause(
  { attempts, status, retryAfterSeconds }: FailedAttempt,
  random: number,
): number | null {
  const planned = pauses[attempts - 1];
  if (planned === undefined) return null;
  const isBusy = status !== null && busy.has(status);
  const slowed = isBusy ? Math.max(minute, 2 * planned) : planned;
  const spread = slowed * (0.9 + 0.2 * random);
  return Math.max(spread, Math.min(retryAfterSeconds ?? 0, maxPauseSeconds));
}

/** Seconds, of either form of the header (RFC 9110 section 10.2.3). */
export function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
