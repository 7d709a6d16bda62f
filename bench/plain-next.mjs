/** The yardstick for Next: a route handler that does nothing, and a dynamic page that reads one row. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const next = fileURLToPath(new URL("../node_modules/next/dist/bin/next", import.meta.url));
export const plainNext = fileURLToPath(new URL("plain-next", import.meta.url));

function isBuilt() {
  const id = path.join(plainNext, ".next/BUILD_ID");
  if (!existsSync(id)) return false;
  const builtMs = statSync(id).mtimeMs;
  const sources = readdirSync(path.join(plainNext, "app"), { recursive: true, encoding: "utf8" });
  return sources.every((name) => statSync(path.join(plainNext, "app", name)).mtimeMs < builtMs);
}

/** Builds with webpack: Turbopack, whose root must hold node_modules, picks up the product's own instrumentation. */
export async function buildPlainNext() {
  if (isBuilt()) return;
  console.log("building the plain Next application, once");
  const build = spawn(process.execPath, [next, "build", "--webpack"], {
    cwd: plainNext,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise((resolve) => build.once("exit", resolve));
  if (code !== 0) throw new Error("the plain Next application does not build");
}
