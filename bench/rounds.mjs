/** Rounds that take turns, so that a neighbour's load on the machine falls on every side alike; medians of the rounds. */

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const medians = (all) =>
  Object.fromEntries(Object.keys(all[0]).map((name) => [name, median(all.map((one) => one[name] ?? 0))]));

/** `sides`: name → function that measures once. The first round warms up and is not counted. */
export async function takeTurns(sides, rounds = 3) {
  const results = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, measure] of Object.entries(sides)) {
      const result = await measure();
      if (round > 0) results[name].push(result);
    }
  }
  const measures = ["perSecond", "medianMs", "p99Ms"];
  return Object.fromEntries(
    Object.entries(results).map(([name, all]) => [
      name,
      {
        ...Object.fromEntries(measures.map((measure) => [measure, median(all.map((one) => one[measure]))])),
        cpuMicros: medians(all.map(({ cpuMicros = {} }) => cpuMicros)),
      },
    ]),
  );
}

const round = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** Everything that was printed, for `--json`. */
export const report = [];

export function printSides(title, sides) {
  report.push({ title, sides, ratios: {} });
  console.log(`\n${title}`);
  for (const [name, { perSecond, medianMs, p99Ms, cpuMicros }] of Object.entries(sides)) {
    const latency = `median ${round(medianMs)} ms, p99 ${round(p99Ms)} ms`;
    console.log(`  ${name.padEnd(34)} ${round(perSecond).padStart(7)}/s   ${latency}`);
    const used = Object.entries(cpuMicros ?? {}).filter(([, micros]) => micros >= 1);
    if (used.length > 0)
      console.log(
        `    CPU a request: ${used.map(([part, micros]) => `${part} ${round(micros)} µs`).join(", ")}`,
      );
  }
}

export function printRatio(what, value, sense) {
  const last = report.at(-1);
  if (last) last.ratios[what] = value;
  console.log(`  → ${what}: ${value.toFixed(2)} × (${sense})`);
}
