/** Downloads for people and agents, as bundled (.ci/bundle.mjs) and as served. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { and, eq } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { servedPackages } from "#lib/db/schema";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";

export type PackageName = typeof NPM_PACKAGE | typeof PYTHON_WHEEL;
export type ProgramName = "verify.mjs" | "countersign.mjs" | PackageName;

export interface ProgramFile {
  bytes: Uint8Array<ArrayBuffer>;
  sha256Hex: string;
}

/** Digest and addresses, for guides. */
export async function describePrograms() {
  return {
    verifierSha256: (await readProgramFile("verify.mjs"))?.sha256Hex ?? null,
    npmPackagePath: await packagePath(NPM_PACKAGE),
    pythonWheelPath: await packagePath(PYTHON_WHEEL),
  };
}

const shortenDigest = (sha256Hex: string) => sha256Hex.slice(0, 16);

/** With the digest, so that its bytes never change: a lockfile keeps both. */
export async function packagePath(name: PackageName): Promise<string> {
  const file = await readProgramFile(name);
  return file === null ? `/${name}` : `/packages/${shortenDigest(file.sha256Hex)}/${name}`;
}

/**
 * The file of this address, which this version or one before it has served; null if none has. Stored before it is served
 * for the first time, so that the version after this one has it.
 */
export async function readPackage(db: Executor, digest: string, name: string): Promise<Uint8Array | null> {
  if (!/^[0-9a-f]{16}$/.test(digest) || !/^[\w.-]+$/.test(name)) return null;
  const isHere = and(eq(servedPackages.digest, digest), eq(servedPackages.name, name));
  const current = ([NPM_PACKAGE, PYTHON_WHEEL] as const).find((known) => known === name);
  const file = current === undefined ? null : await readProgramFile(current);
  if (file !== null && shortenDigest(file.sha256Hex) === digest) {
    const [known] = await db.select({ name: servedPackages.name }).from(servedPackages).where(isHere);
    const row = { digest, name, bytes: file.bytes };
    if (known === undefined) await db.insert(servedPackages).values(row).onConflictDoNothing();
    return file.bytes;
  }
  const [stored] = await db.select({ bytes: servedPackages.bytes }).from(servedPackages).where(isHere);
  const isIntact = stored !== undefined && shortenDigest(hashBytes(stored.bytes)) === digest;
  return isIntact ? stored.bytes : null;
}

const hashBytes = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

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
  const read = { bytes: new Uint8Array(bytes), sha256Hex: hashBytes(bytes) };
  kept.set(file, read);
  return read;
}
