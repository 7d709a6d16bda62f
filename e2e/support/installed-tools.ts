/** For tests only: pinned programs of other people, from registries. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "./commands";

export interface Installed {
  /** Our programs that use them, and what they are installed by. */
  files: string[];
  install(folder: string): [program: string, args: string[], env?: Record<string, string>][];
}

/** Installs once, with the files of `e2e/support/KIND`; throws if that fails. */
export async function installTools(
  kind: string,
  name: string,
  { files, install }: Installed,
): Promise<string> {
  const programs = path.resolve("e2e/support", kind);
  const cache = path.resolve(`node_modules/.cache/countersign-${kind}`);
  const texts = await Promise.all(files.map((file) => readFile(path.join(programs, file))));
  const hash = createHash("sha256")
    .update(JSON.stringify(install("")))
    .update(Buffer.concat(texts));
  const folder = path.join(cache, `${name}-${hash.digest("hex").slice(0, 16)}`);
  if (existsSync(path.join(folder, "complete"))) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyFile(path.join(programs, file), path.join(folder, file));
  for (const [program, args, env] of install(folder)) {
    const { code, out } = await runProgram(program, args, { env: { ...process.env, ...env } });
    if (code !== 0) throw new Error(`${program}: ${out.slice(-500)}`);
  }
  await writeFile(path.join(folder, "complete"), "");
  return folder;
}
