/** Processor time and memory of a server, and the time of its PostgreSQL backends, from Linux's /proc; nothing elsewhere. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { parsePss } from "./figures.mjs";

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const microsPerTick = 10_000;

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // The process has just ended.
  }
}

function microsOf(pid) {
  // The name, in parentheses, may hold anything.
  const fields = read(`/proc/${pid}/stat`).split(") ").at(-1).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * microsPerTick;
}

const argumentsOf = (pid) => read(`/proc/${pid}/cmdline`).split("\0").filter(Boolean);
const childrenOf = (pid) => read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean);

/** Last argument of the command line: a server's processes are named after their role. */
const nameOf = (pid) => argumentsOf(pid).at(-1)?.split("/").at(-1) ?? "";

function* listTree(pid) {
  yield pid;
  for (const child of childrenOf(pid)) yield* listTree(child);
}

function addTree(pid, totals) {
  for (const one of listTree(pid)) totals[nameOf(one)] = (totals[nameOf(one)] ?? 0) + microsOf(one);
  return totals;
}

/** The memory of each process of a server in megabytes, with its share of what it shares: `[{name, megabytes}]`. */
export const readMemory = (pid) =>
  [...listTree(pid)].map((one) => ({
    name: nameOf(one),
    megabytes: parsePss(readFileSync(`/proc/${one}/smaps_rollup`, "utf8")),
  }));

/** A backend's title has the name of its database. */
const backendsOf = (database) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter(
      (pid) => argumentsOf(pid)[0]?.startsWith("postgres:") && argumentsOf(pid)[0].includes(` ${database} `),
    );

/** `database`: the name of the server's own, if it is on this machine. Returns what reads the time used until now. */
export function createMeter(pid, database) {
  if (!existsSync("/proc/self/stat")) return () => ({});
  return () => ({
    ...addTree(pid, {}),
    ...(database && { PostgreSQL: backendsOf(database).reduce((sum, one) => sum + microsOf(one), 0) }),
  });
}

/** `measure` with what each answer cost, in microseconds, by process. */
export function withCpu(measure, meter) {
  return async () => {
    const before = meter();
    const result = await measure();
    const after = meter();
    const spent = Object.entries(after).map(([name, micros]) => [name, micros - (before[name] ?? 0)]);
    return {
      ...result,
      cpuMicros: Object.fromEntries(spent.map(([name, all]) => [name, all / result.count])),
    };
  };
}
