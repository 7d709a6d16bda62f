/** The files of an evidence pack (docs/wire.md, Evidence pack). */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";

export const packFiles = {
  /** The rows of the newest snapshot of all records. */
  rows: "agent-heads.bin",
  /** The entries just outside the period. */
  before: "before.json",
  after: "after.json",
  /** The newest public attestation, if it is none of the others. */
  newest: "newest.json",
  keys: "keys.json",
  log: "log.json",
  verifier: "verify.mjs",
  report: "report.html",
  manifest: "manifest.json",
} as const;

export type PackFolder = "record" | "attestations" | "decisions" | "rules" | "statements";

/** Sorted as numbers are: `attestations/000000000017.json`. */
export const numberedFile = (folder: PackFolder, number: number): string =>
  `${folder}/${String(number).padStart(12, "0")}.json`;

/** Limit on all files together, inflated: a pack too large to check isn't made. */
export const maxPackBytes = 1024 ** 3;

const fixed = new Set<string>(Object.values(packFiles));
const numbered = /^(?:record|attestations|decisions|rules|statements)\/(\d{12})\.json$/;

export const isPackFile = (name: string): boolean => fixed.has(name) || numbered.test(name);

/** Names of one folder, in order. */
export const filesIn = (folder: PackFolder, names: readonly string[]): string[] =>
  names.filter((name) => name.startsWith(`${folder}/`)).sort();

export const numberOf = (name: string): number => Number(numbered.exec(name)?.[1]);

export const encodePackJson = (value: unknown): Uint8Array =>
  utf8Encode(`${JSON.stringify(value, null, 2)}\n`);

/** Every signed note in a file: what lies under the name `checkpoint`, at any depth. */
export function findCheckpoints(value: JsonValue): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(findCheckpoints);
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "checkpoint" && typeof inner === "string" ? [inner] : findCheckpoints(inner),
  );
}
