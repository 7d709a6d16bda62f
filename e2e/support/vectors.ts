/**
 * For tests only: vectors from elsewhere, if a folder of them is given. Everything checked with them is also checked
 * with vectors of our own, so that nothing is skipped without the folder.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = process.env["COUNTERSIGN_VECTORS"] ?? path.resolve(process.cwd(), "../shared/vectors");

/** Rows for `it.each`: the file's name and text; empty without the folder. */
export function listVectors(name: string): [string, string][] {
  const file = path.join(folder, name);
  return existsSync(file) ? [[name, readFileSync(file, "utf8")]] : [];
}
