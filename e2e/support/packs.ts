/** Evidence packs taken apart and put together again, as somebody would who wants one to say something else. */

import { inflateRawSync } from "node:zlib";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { readZip } from "#lib/protocol/encoding/zip";
import { readPackEntry } from "#lib/protocol/pack/pack-entries";
import {
  describePack,
  encodeManifest,
  encodePackJson,
  filesIn,
  listAgentFolders,
  numberedFile,
  PACK_VERSION,
  type PackAgent,
  type PackVersion,
  packFiles,
} from "#lib/protocol/pack/pack-manifest";
import { renderPackReport } from "#lib/protocol/pack/pack-report";
import { renderPackCsv } from "#lib/protocol/pack/pack-rows";
import { renderRequirementsCsv } from "#lib/protocol/pack/requirements";
import { createZipWriter } from "#lib/services/packs/pack";
import { nodeIo } from "#lib/verifier/cli/node-io";

export type PackedFiles = Map<string, Uint8Array>;
// biome-ignore lint/suspicious/noExplicitAny: answers as they come, to be broken in every way
export type Json = any;

export async function collect(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return new Uint8Array(Buffer.concat(all));
}

export function unpack(bytes: Uint8Array): PackedFiles {
  const archive = readZip(bytes, nodeIo.zip, { maxFileBytes: 1e8, maxBytes: 1e9 });
  const inflate = ({ name, offset, deflatedSize }: (typeof archive.files)[number]) => {
    const start = offset + 30 + name.length;
    return new Uint8Array(inflateRawSync(bytes.subarray(start, start + deflatedSize)));
  };
  return new Map(archive.files.map((file) => [file.name, inflate(file)]));
}

export const parse = (files: PackedFiles, name: string): Json =>
  JSON.parse(utf8Decode(files.get(name) ?? new Uint8Array()));

/** As a forger would who knows the format: the manifest names the files as they are now, and the report is theirs. */
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
  const agents = listAgentFolders(names).map((folder) => readAgent(files, folder, manifest.period));
  const texts: [string, string][] = [[packFiles.report, renderPackReport(agents, zip.files, version)]];
  if (version !== 1)
    texts.unshift([packFiles.csv, renderPackCsv(agents)], [packFiles.requirements, renderRequirementsCsv()]);
  for (const [name, text] of texts)
    await add(name, isWhole ? utf8Encode(text) : (files.get(name) ?? new Uint8Array()));
  await add(
    packFiles.manifest,
    isWhole ? encodeManifest(agents, zip.files, version) : encodePackJson({ ...manifest, files: zip.files }),
  );
  return new Uint8Array(Buffer.concat([...sent, zip.end()]));
}

function readAgent(files: PackedFiles, folder: string, period: Json): PackAgent {
  const read = (name: string) => (files.has(name) ? readPackEntry(name, parse(files, name)) : null);
  const names = [...files.keys()].filter((name) => name.startsWith(folder));
  const entries = [...filesIn(`${folder}attestations`, names), ...filesIn(`${folder}decisions`, names)]
    .flatMap((name) => read(name) ?? [])
    .sort((a, b) => Number(a.sequence) - Number(b.sequence));
  const facts = describePack({
    period,
    firstPage: parse(files, `${folder}${numberedFile("record", 1)}`) as JsonObject,
    before: read(`${folder}${packFiles.before}`),
    after: read(`${folder}${packFiles.after}`),
    entries,
    hasRows: files.has(packFiles.rows),
  });
  return { facts, entries };
}

/** The files as they are, whatever the manifest says. */
export async function pack(files: Iterable<[string, Uint8Array]>): Promise<Uint8Array> {
  const zip = createZipWriter();
  const sent: Uint8Array[] = [];
  for (const [name, bytes] of files) sent.push(await zip.add(name, bytes));
  return new Uint8Array(Buffer.concat([...sent, zip.end()]));
}
