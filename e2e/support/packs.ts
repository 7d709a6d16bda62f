/** Evidence packs taken apart and put together again, as somebody would who wants one to say something else. */

import { inflateRawSync } from "node:zlib";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { readPackEntry } from "#lib/protocol/pack/pack-entries";
import {
  describePack,
  encodeManifest,
  encodePackJson,
  filesIn,
  listAgentFolders,
  numberedFile,
  PACK_VERSION,
  type PackVersion,
  packFiles,
} from "#lib/protocol/pack/pack-manifest";
import {
  type PackAgent,
  type Piece,
  type RowStyle,
  tallyEntries,
  writePackCsv,
  writePackReport,
} from "#lib/protocol/pack/pack-report";
import { renderRequirementsCsv } from "#lib/protocol/pack/requirements";
import { createZipWriter } from "#lib/services/packs/zip-writer";

export type PackedFiles = Map<string, Uint8Array>;
// biome-ignore lint/suspicious/noExplicitAny: answers as they come, to be broken in every way
export type Json = any;

export async function collect(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return new Uint8Array(Buffer.concat(all));
}

export function unpack(bytes: Uint8Array): PackedFiles {
  const files: PackedFiles = new Map();
  const buffer = Buffer.from(bytes);
  for (let at = 0; buffer.readUInt32LE(at) === 0x04034b50; ) {
    const start = at + 30 + buffer.readUInt16LE(at + 26);
    const end = start + buffer.readUInt32LE(at + 18);
    const name = buffer.toString("latin1", at + 30, start);
    files.set(name, new Uint8Array(inflateRawSync(buffer.subarray(start, end))));
    at = end;
  }
  return files;
}

export const parse = (files: PackedFiles, name: string): Json =>
  JSON.parse(utf8Decode(files.get(name) ?? new Uint8Array()));

/** Changes files like a forger who knows the format: manifest and report fit the files as they are now. */
export async function forge(
  files: PackedFiles,
  isWhole: boolean,
  version: PackVersion = PACK_VERSION,
): Promise<Uint8Array> {
  const written: string[] = [packFiles.manifest, packFiles.report, packFiles.csv, packFiles.requirements];
  const names = [...files.keys()].filter((name) => !written.includes(name));
  const zip = createZipWriter();
  const sent: Uint8Array[] = [];
  const add = async (name: string, bytes: Uint8Array) => sent.push(await zip.add(name, bytes));
  for (const name of names) await add(name, files.get(name) ?? new Uint8Array());
  const manifest = parse(files, packFiles.manifest);
  const folders = listAgentFolders(names);
  const agents = folders.map((folder) =>
    readAgent(files, folder, manifest.period, { isOfSeveral: folders.length > 1, version }),
  );
  const texts: [string, Piece[]][] = [[packFiles.report, writePackReport(agents, zip.files, version)]];
  if (version !== 1)
    texts.unshift([packFiles.csv, writePackCsv(agents)], [packFiles.requirements, [renderRequirementsCsv()]]);
  for (const [name, text] of texts)
    await add(name, isWhole ? utf8Encode(text.join("")) : (files.get(name) ?? new Uint8Array()));
  const all = agents.map(({ facts }) => facts);
  await add(
    packFiles.manifest,
    isWhole ? encodeManifest(all, zip.files, version) : encodePackJson({ ...manifest, files: zip.files }),
  );
  return new Uint8Array(Buffer.concat([...sent, zip.end()]));
}

function readAgent(
  files: PackedFiles,
  folder: string,
  period: Json,
  style: Omit<RowStyle, "slug">,
): PackAgent {
  const read = (name: string) => (files.has(name) ? readPackEntry(name, parse(files, name)) : null);
  const names = [...files.keys()].filter((name) => name.startsWith(folder));
  const entries = [...filesIn(`${folder}attestations`, names), ...filesIn(`${folder}decisions`, names)]
    .flatMap((name) => read(name) ?? [])
    .sort((a, b) => Number(a.sequence) - Number(b.sequence));
  const firstPage = parse(files, `${folder}${numberedFile("record", 1)}`);
  const { tally } = tallyEntries(entries, { ...style, slug: String(firstPage.slug) });
  const facts = describePack({
    period,
    firstPage: firstPage as JsonObject,
    counts: tally.counts,
    before: read(`${folder}${packFiles.before}`),
    after: read(`${folder}${packFiles.after}`),
    entries,
    hasRows: files.has(packFiles.rows),
  });
  return { facts, tally };
}

/** The files as they are, whatever the manifest says. */
export async function pack(files: Iterable<[string, Uint8Array]>): Promise<Uint8Array> {
  const zip = createZipWriter();
  const sent: Uint8Array[] = [];
  for (const [name, bytes] of files) sent.push(await zip.add(name, bytes));
  return new Uint8Array(Buffer.concat([...sent, zip.end()]));
}
