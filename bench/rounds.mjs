/** Rounds that take turns, so that a neighbour's load on the machine falls on every side alike; medians of the rounds. */
import { describeFigure, medians } from "./figures.mjs";

const rounds = 3;

/** `sides`: name → function that measures once. The first round warms up and is not counted. */
export async function takeTurns(sides) {
  const results = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, measure] of Object.entries(sides)) {
      const result = await measure();
      if (round > 0) results[name].push(result);
    }
  }
  return Object.fromEntries(
    Object.entries(results).map(([name, all]) => [
      name,
      { ...medians(all.map(onlyNumbers)), cpuMicros: medians(all.map(({ cpuMicros = {} }) => cpuMicros)) },
    ]),
  );
}

const onlyNumbers = (result) =>
  Object.fromEntries(Object.entries(result).filter(([, value]) => typeof value === "number"));

/** Everything printed, for `--json`; ratios and other results again on their own, for the table. */
export const report = { measured: [], results: [] };

const times = { medianMs: "median", meanMs: "mean", p99Ms: "p99" };

/** Prints a title for its sides and all figures up to the next one. */
export function printSides(title, sides) {
  report.measured.push({ title, sides });
  console.log(`\n${title}`);
  for (const [name, { perSecond, cpuMicros, ...side }] of Object.entries(sides)) {
    const latency = Object.entries(times)
      .filter(([key]) => side[key] !== undefined)
      .map(([key, word]) => `${word} ${describeFigure(side[key], "ms")}`);
    const rate = perSecond === undefined ? "" : describeFigure(perSecond, "/s");
    console.log(`  ${name.padEnd(40)} ${rate.padStart(9)}   ${latency.join(", ")}`);
    const used = Object.entries(cpuMicros ?? {}).filter(([, micros]) => micros >= 1);
    if (used.length > 0)
      console.log(
        `    CPU a request: ${used.map(([part, micros]) => `${part} ${describeFigure(micros, "µs")}`).join(", ")}`,
      );
  }
}

/** `what` says all, without the title; `sense`: how to read it. */
export function printResult(what, value, unit, sense) {
  report.results.push({ what, value, unit, sense });
  console.log(`  → ${what}: ${describeFigure(value, unit)} (${sense})`);
}

export const printRatio = (what, value, sense = "more is better") => printResult(what, value, "×", sense);

export function printTable() {
  if (report.results.length === 0) return;
  const width = Math.max(...report.results.map(({ what }) => what.length));
  console.log("\nAll results");
  for (const { what, value, unit, sense } of report.results)
    console.log(`  ${what.padEnd(width)}  ${describeFigure(value, unit).padStart(10)}  ${sense}`);
}
