/** What people and agents download to run, as it was bundled (.ci/bundle.mjs) and as it is served. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { PYTHON_WHEEL } from "#lib/core/statement/product";

export type ProgramName = "verify.mjs" | "countersign.mjs" | "countersign.tgz" | typeof PYTHON_WHEEL;

export interface ProgramFile {
  bytes: Uint8Array<ArrayBuffer>;
  sha256Hex: string;
}

export async function readVerifierSha256(): Promise<string | null> {
  return (await readProgramFile("verify.mjs"))?.sha256Hex ?? null;
}

/** By path. */
const kept = new Map<string, ProgramFile>();

/** Null before the build has made it (`next dev` in a fresh clone). */
export async function readProgramFile(name: ProgramName): Promise<ProgramFile | null> {
  const file = path.join(process.cwd(), "dist", name);
  const known = kept.get(file);
  if (known !== undefined) return known;
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (bytes === null) return null;
  const sha256Hex = createHash("sha256").update(bytes).digest("hex");
  const read = { bytes: new Uint8Array(bytes), sha256Hex };
  kept.set(file, read);
  return read;
}
