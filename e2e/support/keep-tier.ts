/**
 * Holds a test file to its suffix: only a process or smoke test starts programs, and a pure one doesn't listen either. A
 * service test may fork, as the service does for its rules and its prover. And keeps tests from midnight (./midnight.ts).
 */
import child from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { beforeAll, beforeEach, inject } from "vitest";
import { passMidnight } from "./midnight";

declare module "vitest" {
  interface ProvidedContext {
    tier: string;
  }
}

function refuse(what: string): never {
  throw new Error(`a ${inject("tier")} test ${what}: the suffix of its name has to say so (CONTRIBUTING.md)`);
}

const tier = inject("tier");
if (tier === "pure" || tier === "service") {
  const programs = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync"];
  for (const name of tier === "pure" ? [...programs, "fork"] : programs)
    Object.assign(child, { [name]: () => refuse("starts a program") });
  if (tier === "pure") net.Server.prototype.listen = () => refuse("listens");
  syncBuiltinESMExports();
}
if (tier !== "pure") {
  beforeAll(passMidnight);
  beforeEach(passMidnight);
}
