/** The files of an evidence pack, each once and each as its manifest names it. */
import { utf8Decode } from "#lib/domain/bytes";
import type { JsonObject } from "#lib/domain/canonical-json";
import { isPackFile, packFiles } from "#lib/domain/pack-files";
import { describeFile, PACK_TYPE, PACK_VERSION, type PackedFile } from "#lib/domain/pack-manifest";
import { type PackCheck, packFault, packPass } from "#lib/domain/pack-reasons";
import { readZip, type ZipArchive, ZipError, type ZipTools } from "#lib/domain/zip";
import { readObject, UnreadableError } from "./read-json";

/** The service's answers are far smaller; the rows of a snapshot of 100,000 agents have 7 MB. */
const maxFileBytes = 64 * 1024 * 1024;

export interface OpenPack {
  names: string[];
  read(name: string): Uint8Array;
  readJson(name: string): JsonObject;
  has(name: string): boolean;
  manifest: JsonObject;
  /** As they are, without the manifest. */
  files: PackedFile[];
}

function describeArchive(archive: ZipArchive): OpenPack {
  const names = archive.files.map(({ name }) => name);
  const readJson = (name: string) => {
    try {
      return readObject(utf8Decode(archive.read(name)));
    } catch (error) {
      if (error instanceof ZipError) throw error;
      throw new UnreadableError(`${name}: ${error instanceof UnreadableError ? error.message : "not UTF-8"}`);
    }
  };
  const others = names.filter((name) => name !== packFiles.manifest);
  return {
    names,
    has: (name) => names.includes(name),
    read: archive.read,
    readJson,
    manifest: readJson(packFiles.manifest),
    files: others.map((name) => describeFile(name, archive.read(name))),
  };
}

/** Which file is not the manifest's, or not one of a pack. */
function findForeign({ names, manifest, files }: OpenPack): PackCheck | null {
  const unknown = names.find((name) => !isPackFile(name));
  if (unknown !== undefined) return packFault("files", "file_unknown", { file: unknown });
  const { type, version, files: listed } = manifest;
  if (type !== PACK_TYPE || version !== PACK_VERSION || !Array.isArray(listed))
    return packFault("files", "manifest_unreadable", {
      problem: "not that of an evidence pack of version 1",
    });
  const named = new Map(
    listed.map((one) => [String((one as JsonObject | null)?.["name"]), JSON.stringify(one)]),
  );
  const changed = files.find((file) => named.get(file.name) !== JSON.stringify(file));
  if (changed !== undefined) return packFault("files", "file_changed", { file: changed.name });
  const present = new Set(names);
  const missing = [...named.keys()].find((name) => !present.has(name));
  return missing === undefined ? null : packFault("files", "file_missing", { file: missing });
}

/** The checks `archive` and `files`; the pack only if both hold. */
export function openPack(bytes: Uint8Array, tools: ZipTools): { checks: PackCheck[]; pack: OpenPack | null } {
  let pack: OpenPack;
  try {
    pack = describeArchive(readZip(bytes, tools, maxFileBytes));
  } catch (error) {
    if (!(error instanceof ZipError || error instanceof UnreadableError)) throw error;
    return { checks: [packFault("archive", "archive_unreadable", { problem: error.message })], pack: null };
  }
  const archive = packPass("archive", `${pack.names.length} files, and not a byte besides`);
  const foreign = findForeign(pack);
  if (foreign !== null) return { checks: [archive, foreign], pack: null };
  const required = [packFiles.keys, packFiles.log, packFiles.verifier, packFiles.report];
  const missing = required.find((name) => !pack.has(name));
  if (missing !== undefined)
    return { checks: [archive, packFault("files", "file_missing", { file: missing })], pack: null };
  return { checks: [archive, packPass("files", "each has the SHA-256 and length of the manifest")], pack };
}
