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

let kept: VerifierFile | null = null;

/** Null before the build has made it (`next dev` in a fresh clone). */
export async function readVerifierFile(): Promise<VerifierFile | null> {
  if (kept !== null) return kept;
  const file = path.join(process.cwd(), "dist", "verify.mjs");
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (bytes === null) return null;
  const sha256Hex = createHash("sha256").update(bytes).digest("hex");
  kept = { bytes: new Uint8Array(bytes), sha256Hex };
  return kept;
}
