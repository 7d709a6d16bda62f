/** Arithmetic on what was measured, and how to read the figures that other programs print. */

export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export const median = (values) => quantile(values, 0.5);

/** Medians of objects with the same numbers, name by name; a number that one of them lacks counts as 0. */
export const medians = (all) =>
  Object.fromEntries(Object.keys(all[0]).map((name) => [name, median(all.map((one) => one[name] ?? 0))]));

/** Spread: the largest divided by the smallest. */
export const spread = (values) => Math.max(...values) / Math.min(...values);

/** Three digits; the unit of a ratio is ×. */
export function describeFigure(value, unit) {
  const digits = Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
  return `${digits} ${unit}`;
}

function find(text, pattern, what) {
  const found = pattern.exec(text)?.slice(1).map(Number);
  if (found === undefined) throw new Error(`${what} printed something else:\n${text}`);
  return found;
}

/** Parses the summary that pgbench prints. */
export function parsePgbench(text) {
  const [meanMs] = find(text, /^latency average = ([\d.]+) ms$/m, "pgbench");
  const [perSecond] = find(text, /^tps = ([\d.]+) /m, "pgbench");
  return { perSecond, meanMs };
}

/** Parses `openssl speed ed25519`: the last two columns, sign/s and verify/s. */
export function parseOpensslSpeed(text) {
  const [signPerSecond, verifyPerSecond] = find(
    text,
    /\(Ed25519\) +[\d.]+s +[\d.]+s +([\d.]+) +([\d.]+)/,
    "openssl speed",
  );
  return { signPerSecond, verifyPerSecond };
}

/** Megabytes of a process's own memory and its share of what it shares, from /proc/<pid>/smaps_rollup. */
export const parsePss = (text) => find(text, /^Pss: +(\d+) kB$/m, "smaps_rollup")[0] / 1024;
