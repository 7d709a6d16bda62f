/** The time between two instants, in words, in the largest fitting unit. */

const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

const formatter = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function formatRelative(instantMs: number, nowMs: number): string {
  const seconds = Math.trunc((instantMs - nowMs) / 1_000);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units[5];
  return formatter.format(Math.trunc(seconds / size), unit);
}
