/**
 * The manifest of an evidence pack. Only the period is its maker's word. Everything else follows from the other files, so
 * the verifier makes it again and compares the bytes.
 */
import { base64Decode, concatBytes, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { decodeHeadRow, parseHeadsStatement } from "#lib/protocol/record/agent-heads";
import type { PackCounts, PackEntry } from "./pack-entries";

/* The files of an evidence pack (docs/wire.md, Evidence pack). */

export const packFiles = {
  /** The rows of the newest snapshot of all records. */
  rows: "agent-heads.bin",
  before: "before.json",
  after: "after.json",
  newest: "newest.json",
  attention: "attention.json",
  planted: "planted.json",
  keys: "keys.json",
  log: "log.json",
  verifier: "verify.mjs",
  report: "report.html",
  /** Present from version 2 on. */
  csv: "report.csv",
  requirements: "requirements.csv",
  manifest: "manifest.json",
} as const;

export type PackFolder = "record" | "attestations" | "decisions" | "rules" | "statements";

export const numberedFile = (folder: PackFolder, number: number): string =>
  `${folder}/${String(number).padStart(12, "0")}.json`;

/** A pack is checked as a whole, by people with patience: more belongs into several. */
export const maxPackEntries = 100_000;
/** Limit on all files together, inflated: a pack too large to check isn't made. */
export const maxPackBytes = 4 * 1024 ** 3;

/** Files that each agent has of its own, alone at the root and of several in {@link agentFolder}. */
const own = /^(?:(?:record|attestations|decisions|rules)\/\d{12}|before|after|newest|attention)\.json$/;
const inFolder = /^agents\/\d{12}\//;
const statements = /^statements\/\d{12}\.json$/;
const fixed = new Set<string>(Object.values(packFiles));

export const isOwnFile = (name: string): boolean => own.test(name);
export const isPackFile = (name: string): boolean =>
  fixed.has(name) || statements.test(name) || own.test(name.replace(inFolder, ""));

/** Folder of one of several agents, from 1. */
export const agentFolder = (number: number): string => `agents/${String(number).padStart(12, "0")}/`;

/** Folders of all agents in a pack; the root, if it is of one. */
export function listAgentFolders(names: readonly string[]): string[] {
  const found = new Set(names.flatMap((name) => inFolder.exec(name)?.[0] ?? []));
  return found.size === 0 ? [""] : [...found].sort();
}

/** Names of one folder, in order. */
export const filesIn = (folder: string, names: readonly string[]): string[] =>
  names.filter((name) => name.startsWith(`${folder}/`)).sort();

export const readNumber = (name: string): number => Number(/\/(\d{12})\.json$/.exec(name)?.[1]);

export const encodePackJson = (value: unknown): Uint8Array =>
  utf8Encode(`${JSON.stringify(value, null, 2)}\n`);

export function findCheckpoints(value: JsonValue, found: string[] = []): string[] {
  if (typeof value !== "object" || value === null) return found;
  if (Array.isArray(value)) {
    for (const inner of value) if (typeof inner === "object") findCheckpoints(inner, found);
    return found;
  }
  for (const name of Object.keys(value)) {
    const inner = (value as JsonObject)[name];
    if (typeof inner === "object") findCheckpoints(inner, found);
    else if (name === "checkpoint" && typeof inner === "string") found.push(inner);
  }
  return found;
}

export const PACK_TYPE = "countersign-evidence-pack";
/** 1: packs of 1.0.0. 2: of one agent or several; their report has amounts, tools, who decided, and sums. */
export type PackVersion = 1 | 2;
export const PACK_VERSION: PackVersion = 2;
export const isPackVersion = (value: unknown): value is PackVersion => value === 1 || value === 2;

export interface PackPeriod {
  /** RFC 3339 in UTC: from this time on, and before that one. */
  from: string;
  to: string;
}

export interface PackedFile {
  name: string;
  sha256: string;
  length: number;
}

/** A part that the pack lacks, and why. `count` only where it can be counted. */
export interface LeftOut {
  what: string;
  why: string;
  count?: number;
}

export interface PackFacts {
  agent: { slug: string; agent_id: string };
  period: PackPeriod;
  record: {
    /** Numbers in the agent's record, and the last one that there was; `last` is before `first` if there are none. */
    first: number;
    last: number;
    head: number;
    /** Coverage of the newest signed count of all records; null if there is none. */
    counted: { entries: number; log_origin: string; covers_size: number; at: string } | null;
  };
  counts: PackCounts;
  left_out: LeftOut[];
}

export interface PackContent {
  period: PackPeriod;
  firstPage: JsonObject;
  before: Pick<PackEntry, "sequence"> | null;
  after: Pick<PackEntry, "sequence"> | null;
  entries: readonly Pick<PackEntry, "state">[];
  counts: PackCounts;
  hasRows: boolean;
}

/** True if an entry after the period, or a signed count of a later time, shows where the period ends. */
export function isEndShown({
  record: { last, head, counted },
  period,
}: Pick<PackFacts, "record" | "period">) {
  return last < head || (counted?.entries === head && Date.parse(counted.at) >= Date.parse(period.to));
}

/** Reads the newest snapshot, as the record shows it: unchecked here. */
export function readCounted({ snapshot }: JsonObject): PackFacts["record"]["counted"] {
  const statement = isJsonObject(snapshot) ? snapshot["statement"] : null;
  const payload = isJsonObject(statement) ? statement["payload"] : null;
  const heads = typeof payload === "string" ? parseHeadsStatement(utf8Encode(payload)) : null;
  if (!isJsonObject(snapshot) || heads === null) return null;
  const { sequence: entries } = decodeHeadRow(base64Decode(String(snapshot["row"])));
  return { entries, log_origin: heads.log_origin, covers_size: heads.covers_size, at: heads.at };
}

const neverIn: readonly LeftOut[] = [
  { what: "requests that expired or wait", why: "nothing is signed until a person decides" },
  { what: "reasons given for denials", why: "they are not signed" },
  {
    what: "details and names on approval pages",
    why: "only their hash is signed; the organization keeps them",
  },
];

function listLeftOut({ entries, hasRows }: PackContent, counted: PackFacts["record"]["counted"]): LeftOut[] {
  const inState = (wanted: PackEntry["state"]) => entries.filter(({ state }) => state === wanted).length;
  const all: LeftOut[] = [
    { what: "content of entries", why: "erased by the owner", count: inState("erased") },
    {
      what: "content of private entries",
      why: "kept out by whoever made the pack",
      count: inState("withheld"),
    },
  ];
  const rows: LeftOut = { what: "rows of the count of all records", why: "too many, or no longer kept" };
  return [
    ...all.filter(({ count }) => count !== 0),
    ...(counted !== null && !hasRows ? [rows] : []),
    ...neverIn,
  ];
}

/** Throws RangeError if the record's pages are not of the service's making. */
export function describePack(content: PackContent): PackFacts {
  const { period, firstPage, before, after, counts } = content;
  const { head } = firstPage;
  const last = Number(isJsonObject(head) ? head["sequence"] : Number.NaN);
  const counted = readCounted(firstPage);
  return {
    agent: { slug: String(firstPage["slug"]), agent_id: String(firstPage["agent_id"]) },
    period,
    record: {
      first: before === null ? 1 : before.sequence + 1,
      last: after === null ? last : after.sequence - 1,
      head: last,
      counted,
    },
    counts,
    left_out: listLeftOut(content, counted),
  };
}

export const describeFile = (name: string, bytes: Uint8Array): PackedFile => ({
  name,
  sha256: hexEncode(sha256(bytes)),
  length: bytes.length,
});

/** Facts of one agent as they are; of several, in the order of their folders. */
function joinFacts(agents: readonly PackFacts[]) {
  const [first, ...others] = agents;
  if (first === undefined || others.length === 0) return first;
  const { period } = first;
  return {
    period,
    agents: agents.map(({ period: _period, ...facts }, i) => ({
      folder: agentFolder(i + 1),
      ...facts,
    })),
  };
}

/** `files`: all others, in the order of the archive. */
export const makeManifest = (
  agents: readonly PackFacts[],
  files: readonly PackedFile[],
  version: PackVersion = PACK_VERSION,
) => ({
  type: PACK_TYPE,
  version,
  ...joinFacts(agents),
  files,
});

const filesPerText = 1_000;

/** The manifest's text, a thousand files at a time: of a large pack it is larger than all else that is kept. */
export function* writeManifest(
  agents: readonly PackFacts[],
  files: readonly PackedFile[],
  version: PackVersion = PACK_VERSION,
): Generator<string> {
  const write = (value: unknown) => JSON.stringify(value, null, 2);
  const [opening, closing] = ['{\n  "files": [', "\n  ]\n}"];
  const text = write(makeManifest(agents, [], version));
  if (files.length === 0) return yield `${text}\n`;
  yield `${text.slice(0, -"]\n}".length)}`;
  for (let at = 0; at < files.length; at += filesPerText) {
    const part = write({ files: files.slice(at, at + filesPerText) });
    yield `${at === 0 ? "" : ","}${part.slice(opening.length, -closing.length)}`;
  }
  yield `${closing}\n`;
}

export const encodeManifest = (...given: Parameters<typeof writeManifest>): Uint8Array =>
  concatBytes(...[...writeManifest(...given)].map(utf8Encode));
