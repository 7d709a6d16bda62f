/** The files of an evidence pack, each once and each as its manifest names it. */
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import {
  type ByteSource,
  type PlacedFile,
  readZip,
  type ZipArchive,
  ZipError,
  type ZipTools,
} from "#lib/protocol/encoding/zip";
import {
  describeFile,
  isOwnFile,
  isPackFile,
  isPackVersion,
  listAgentFolders,
  maxPackBytes,
  PACK_TYPE,
  type PackedFile,
  type PackVersion,
  packFiles,
} from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packPass } from "#lib/protocol/pack/pack-reasons";
import { formatCount } from "#lib/protocol/text/display-text";
import { readObject, UnreadableError } from "#lib/verifier/checks/evidence";

/** The report of 100,000 entries has about 40 MB; the rows of a snapshot of 100,000 agents have 7. */
const limits = { maxFileBytes: 128 * 1024 * 1024, maxBytes: maxPackBytes };

export interface OpenPack {
  folder: string;
  names: string[];
  read(name: string): Promise<Uint8Array>;
  readJson(name: string): Promise<JsonObject>;
  has(name: string): boolean;
  manifest: JsonObject;
  version: PackVersion;
  source: ByteSource;
  /** The place of a file that is there. */
  place(name: string): PlacedFile;
  /** Compares a file with the manifest: those that are read once when they are, the others at once. */
  note(file: PackedFile): void;
  /** First file, of all that were noted, that is not as the manifest names it. */
  findChanged(): string | undefined;
  /** Lists all files but the manifest, in the order and under the names of the manifest. */
  listNamed(): PackedFile[];
  /** Notes all files that weren't. Throws {@link ZipError}. */
  noteOthers(): Promise<void>;
}

export function parsePackJson(name: string, bytes: Uint8Array): JsonObject {
  try {
    return readObject(utf8Decode(bytes), true);
  } catch (error) {
    throw new UnreadableError(`${name}: ${error instanceof UnreadableError ? error.message : "not UTF-8"}`);
  }
}

const readJsonFile = async (archive: ZipArchive, name: string): Promise<JsonObject> =>
  parsePackJson(name, await archive.read(name));

const isOther = ({ name }: { name: string }) => name !== packFiles.manifest;
/** Files that packs of version 1 don't have. */
const since2: readonly string[] = [packFiles.csv, packFiles.requirements];
const required = (version: unknown) => [
  ...[packFiles.keys, packFiles.log, packFiles.verifier, packFiles.report],
  ...(version === 1 ? [] : since2),
];

const isList = (value: JsonValue | undefined): value is JsonObject[] =>
  Array.isArray(value) && value.every(isJsonObject);

/** Finds, by names and lengths, before a file is inflated, one that is not the manifest's, or not one of a pack. */
function findForeign(archive: ZipArchive, manifest: JsonObject): PackCheck | null {
  const { type, version } = manifest;
  const listed = manifest["files"];
  if (type !== PACK_TYPE || !isPackVersion(version) || !isList(listed))
    return packFault("files", "manifest_unreadable", {
      problem: "not that of an evidence pack of version 1 or 2",
    });
  const lengths = new Map(listed.map(({ name, length }) => [String(name), length]));
  const changed = archive.files.find((file) => isOther(file) && lengths.get(file.name) !== file.size);
  if (changed !== undefined) return packFault("files", "file_changed", { file: changed.name });
  const missing = [...lengths.keys(), ...required(version)].find((name) => !archive.find(name));
  if (missing !== undefined) return packFault("files", "file_missing", { file: missing });
  const stray = findStray(
    archive.files.map(({ name }) => name),
    version === 1,
  );
  return stray === undefined ? null : packFault("files", "file_unknown", { file: stray });
}

/** A file that belongs to none of the agents, or that packs of version 1 don't have. */
function findStray(names: readonly string[], isFirst: boolean): string | undefined {
  const folders = listAgentFolders(names);
  const isSeveral = folders[0] !== "";
  const isMisplaced = (name: string) =>
    isSeveral && (isOwnFile(name) || (folders.length === 1 && name.startsWith("agents/")));
  return names.find((name) => isMisplaced(name) || (isFirst && (isSeveral || since2.includes(name))));
}

const reportChanged = (file: string) => packFault("files", "file_changed", { file });

async function openArchive(source: ByteSource, tools: ZipTools) {
  const archive = await readZip(source, tools, limits);
  const names = archive.files.map(({ name }) => name);
  const passed = packPass("archive", `${formatCount(names.length, "file")}, and not a byte besides`);
  const unknown = names.find((name) => !isPackFile(name));
  if (unknown !== undefined)
    return { checks: [passed, packFault("files", "file_unknown", { file: unknown })], pack: null };
  const manifest = await readJsonFile(archive, packFiles.manifest);
  const foreign = findForeign(archive, manifest);
  if (foreign !== null) return { checks: [passed, foreign], pack: null };
  const { files: listed } = manifest;
  // Uses the archive's own strings: one for both lists.
  const named = new Map<string, JsonObject>(names.map((name) => [name, {}]));
  for (const one of isList(listed) ? listed : []) named.set(String(one["name"]), one);
  for (const [name, one] of named) if (one["name"] === name) one["name"] = name;
  const others = archive.files.filter(isOther).map(({ name }) => name);
  const unread = new Set(others);
  const differing = new Set<string>();
  const note = (file: PackedFile) => {
    unread.delete(file.name);
    if (JSON.stringify(named.get(file.name)) !== JSON.stringify(file)) differing.add(file.name);
  };
  const readAndNote = async (name: string) => note(describeFile(name, await archive.read(name)));
  const findChanged = () => others.find((name) => differing.has(name));
  for (const name of others) if (!isReadOnce(name)) await readAndNote(name);
  const changed = findChanged();
  if (changed !== undefined) return { checks: [passed, reportChanged(changed)], pack: null };
  const pack: OpenPack = {
    folder: "",
    names,
    has: (name) => archive.find(name) !== undefined,
    read: archive.read,
    readJson: (name) => readJsonFile(archive, name),
    manifest,
    version: manifest["version"] === 1 ? 1 : 2,
    source,
    note,
    findChanged,
    place: (name) => {
      const file = archive.find(name);
      if (file === undefined) throw new ZipError(`${name} is not there`);
      return file;
    },
    listNamed: () => others.map((name) => named.get(name) as unknown as PackedFile),
    noteOthers: async () => {
      for (const name of [...unread]) await readAndNote(name);
    },
  };
  return { checks: [passed], pack };
}

/** Files of entries, and the largest of the others: read for their hash and for what they show at the same time. */
const isReadOnce = (name: string) =>
  /(?:^|\/)(?:(?:attestations|decisions)\/\d{12}|before|after|newest)\.json$|^report\./.test(name);

/** Compares all files with the manifest, those too that no other check has read. */
export async function checkFiles(pack: OpenPack): Promise<PackCheck> {
  try {
    await pack.noteOthers();
    const changed = pack.findChanged();
    return changed === undefined
      ? packPass("files", "each has the SHA-256 and length of the manifest")
      : reportChanged(changed);
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    return packFault("archive", "archive_unreadable", { problem: error.message });
  }
}

export async function openPack(
  source: ByteSource,
  tools: ZipTools,
): Promise<{ checks: PackCheck[]; pack: OpenPack | null }> {
  try {
    return await openArchive(source, tools);
  } catch (error) {
    if (!(error instanceof ZipError || error instanceof UnreadableError)) throw error;
    return { checks: [packFault("archive", "archive_unreadable", { problem: error.message })], pack: null };
  }
}

/** The pack as each of its agents has it: its own files without their folder, and those of all. */
export function listAgentPacks(pack: OpenPack): OpenPack[] {
  const folders = listAgentFolders(pack.names);
  if (folders[0] === "") return [pack];
  const shared = pack.names.filter((name) => isPackFile(name) && !name.startsWith("agents/"));
  return folders.map((folder) => {
    const own = pack.names.filter((name) => name.startsWith(folder)).map((name) => name.slice(folder.length));
    const present = new Set([...own, ...shared]);
    const locate = (name: string) => (isOwnFile(name) ? `${folder}${name}` : name);
    return {
      ...pack,
      folder,
      names: [...present],
      has: (name) => present.has(name),
      read: (name) => pack.read(locate(name)),
      readJson: (name) => pack.readJson(locate(name)),
    };
  });
}
