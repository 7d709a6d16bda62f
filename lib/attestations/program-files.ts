/** The offline verifier as it was bundled (.ci/bundle.mjs) and as it is served at /verify.mjs. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";

export interface VerifierFile {
  bytes: Uint8Array<ArrayBuffer>;
  sha256Hex: string;
}

export async function readVerifierSha256(): Promise<string | null> {
  return (await readVerifierFile())?.sha256Hex ?? null;
}

/** By path. */
const kept = new Map<string, VerifierFile>();

/** Null before the build has made it (`next dev` in a fresh clone). */
export async function readVerifierFile(): Promise<VerifierFile | null> {
  const file = path.join(process.cwd(), "dist", "verify.mjs");
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
