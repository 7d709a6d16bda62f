/**
 * ZIP archives (PKWARE APPNOTE 6.3) of one plain kind: every file deflated, names in ASCII, sizes and checksum in front of
 * the bytes, one fixed date, no comments, no extra fields. The reader accepts exactly what the writer writes. Programs
 * that disagree about an archive, because one reads the headers in front of the files and another those at the end, or
 * because of hidden, double or trailing bytes, cannot be played against each other by such a file.
 *
 *     header || name || deflated bytes      for each file
 *     directory                             every header again, with its place
 *     end                                   how many, and where the directory is; of more than 65,534 files ZIP64's first
 */
import { bytesEqual, utf8Encode } from "./bytes";

export interface ZipFile {
  name: string;
  crc: number;
  size: number;
  deflatedSize: number;
}

export type PlacedFile = ZipFile & { offset: number };

export interface ZipTools {
  /** Throws if the bytes are not deflated ones and nothing else, or inflate to more than `maxBytes`. */
  inflate(bytes: Uint8Array, maxBytes: number): Uint8Array | Promise<Uint8Array>;
  crc32(bytes: Uint8Array): number;
}

/** A file that is read in parts. */
export interface ByteSource {
  size: number;
  /** An open file's, which other threads may read too. */
  fd?: number;
  /** Returns as many bytes as asked for; fewer at the end of a file that was cut meanwhile. */
  read(offset: number, length: number): Uint8Array | Promise<Uint8Array>;
}

export const toByteSource = (bytes: Uint8Array): ByteSource => ({
  size: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
});

const windowBytes = 128 * 1024;

/** Reads ahead: most files of an archive are small, and read one after the other. */
export function readInWindows(
  size: number,
  readAt: (offset: number, length: number) => Uint8Array | Promise<Uint8Array>,
): ByteSource {
  let start = 0;
  let bytes = new Uint8Array();
  return {
    size,
    read: async (offset, length) => {
      if (offset < start || offset + length > start + bytes.length) {
        bytes = new Uint8Array();
        bytes = (await readAt(
          offset,
          Math.min(size - offset, Math.max(length, windowBytes)),
        )) as typeof bytes;
        start = offset;
      }
      return bytes.subarray(offset - start, offset - start + length);
    },
  };
}

export class ZipError extends Error {}

/** More than a pack of 100,000 entries has; the directory, which is read as a whole, has 10 MB then. */
export const maxZipFiles = 131_072;
/** 16-bit counts without ZIP64. */
const maxPlainFiles = 65_534;
/** 32-bit places and sizes. */
export const maxZipBytes = 0xffffffff;

const headerBytes = 30;
const listedBytes = 46;
const endBytes = 22;
const largeEndBytes = 56 + 20;
const maxNameBytes = 128;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9][A-Za-z0-9_-]*)*$/;
/** 2.0, for deflated files. */
const version = 20;
/** 4.5, for ZIP64. */
const largeVersion = 45;
const deflated = 8;
/** 1980-01-01, the first date that there is. */
const date = 0x21;

const toView = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength);

/** The same in both headers: needed version, flags, method, time, date, checksum, sizes, length of the name, no extra. */
function writeFacts(view: DataView, at: number, { name, crc, size, deflatedSize }: ZipFile): void {
  view.setUint16(at, version, true);
  view.setUint16(at + 4, deflated, true);
  view.setUint16(at + 8, date, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, deflatedSize, true);
  view.setUint32(at + 18, size, true);
  view.setUint16(at + 22, name.length, true);
}

export function encodeZipHeader(file: ZipFile): Uint8Array {
  if (!namePattern.test(file.name)) throw new RangeError(`not a name for an archive: ${file.name}`);
  const bytes = new Uint8Array(headerBytes + file.name.length);
  const view = toView(bytes);
  view.setUint32(0, 0x04034b50, true);
  writeFacts(view, 4, file);
  bytes.set(utf8Encode(file.name), headerBytes);
  return bytes;
}

/** Version, no comment, disk 0, no attributes, and where the file is. */
function writeListed(bytes: Uint8Array, view: DataView, at: number, file: PlacedFile): void {
  view.setUint32(at, 0x02014b50, true);
  view.setUint16(at + 4, version, true);
  writeFacts(view, at + 6, file);
  view.setUint32(at + 42, file.offset, true);
  bytes.set(utf8Encode(file.name), at + listedBytes);
}

/** ZIP64's end of the directory, which ends at `at`, and the place of that. */
function writeLargeEnd(view: DataView, at: number, files: number, start: number): void {
  const set64 = (place: number, value: number) => view.setBigUint64(at + place, BigInt(value), true);
  view.setUint32(at, 0x06064b50, true);
  set64(4, 44);
  view.setUint16(at + 12, largeVersion, true);
  view.setUint16(at + 14, largeVersion, true);
  set64(24, files);
  set64(32, files);
  set64(40, at);
  set64(48, start);
  view.setUint32(at + 56, 0x07064b50, true);
  set64(64, start + at);
  view.setUint32(at + 72, 1, true);
}

export function encodeZipEnd(files: readonly PlacedFile[]): Uint8Array {
  const length = files.reduce((sum, { name }) => sum + listedBytes + name.length, 0);
  const isLarge = files.length > maxPlainFiles;
  const end = length + (isLarge ? largeEndBytes : 0);
  const bytes = new Uint8Array(end + endBytes);
  const view = toView(bytes);
  let at = 0;
  for (const file of files) {
    writeListed(bytes, view, at, file);
    at += listedBytes + file.name.length;
  }
  const last = files.at(-1);
  const start = last === undefined ? 0 : last.offset + measureFile(last);
  if (isLarge) writeLargeEnd(view, length, files.length, start);
  const count = isLarge ? 0xffff : files.length;
  view.setUint32(end, 0x06054b50, true);
  view.setUint16(end + 8, count, true);
  view.setUint16(end + 10, count, true);
  view.setUint32(end + 12, length, true);
  view.setUint32(end + 16, start, true);
  return bytes;
}

const measureFile = ({ name, deflatedSize }: ZipFile) => headerBytes + name.length + deflatedSize;

/** Reads one file of the directory at this place of it, still to be compared. */
function readListed(bytes: Uint8Array, view: DataView, at: number, offset: number): PlacedFile {
  const broken = (what: string) => new ZipError(`${what} at byte ${offset}`);
  if (at + listedBytes > bytes.length) throw broken("the archive breaks off");
  const nameAt = at + listedBytes;
  const nameLength = view.getUint16(at + 28, true);
  if (nameLength > maxNameBytes) throw broken("a header that no archive of ours has");
  const name = String.fromCharCode(...bytes.subarray(nameAt, nameAt + nameLength));
  if (!namePattern.test(name))
    throw broken(`the file name ${JSON.stringify(name)}, which no archive of ours has,`);
  const read = (place: number) => view.getUint32(at + place, true);
  return { name, crc: read(16), size: read(24), deflatedSize: read(20), offset };
}

export interface ZipArchive {
  files: readonly PlacedFile[];
  find(name: string): PlacedFile | undefined;
  /** Inflates the file to exactly the stated size and checksum. Throws {@link ZipError}. */
  read(name: string): Promise<Uint8Array>;
}

export interface ZipLimits {
  maxFileBytes: number;
  maxBytes: number;
}

/** The directory and all behind it; throws if there is no end of an archive where the bytes end. */
async function readDirectory(source: ByteSource): Promise<{ bytes: Uint8Array; start: number }> {
  const first = toView(await source.read(0, 4));
  if (source.size < endBytes || first.byteLength < 4 || first.getUint32(0, true) !== 0x04034b50)
    throw new ZipError("not a ZIP archive of ours");
  const end = toView(await source.read(source.size - endBytes, endBytes));
  if (end.byteLength < endBytes || end.getUint32(0, true) !== 0x06054b50)
    throw new ZipError("the archive was cut, or has bytes after its end");
  const start = end.getUint32(16, true);
  const length = source.size - start;
  if (length > maxZipFiles * (listedBytes + maxNameBytes) + largeEndBytes + endBytes)
    throw new ZipError("too many files");
  if (length < endBytes) throw new ZipError("the archive breaks off");
  return { bytes: await source.read(start, length), start };
}

/**
 * Throws {@link ZipError} for every archive but the writer's own. Nothing is inflated before it is read, and each file's
 * header is compared with the directory when it is.
 */
export async function readZip(
  source: ByteSource,
  tools: ZipTools,
  { maxFileBytes, maxBytes }: ZipLimits,
): Promise<ZipArchive> {
  const { bytes, start } = await readDirectory(source);
  const view = toView(bytes);
  const files = new Map<string, PlacedFile>();
  let at = 0;
  let offset = 0;
  let total = 0;
  while (offset < start) {
    const file = readListed(bytes, view, at, offset);
    if (files.has(file.name)) throw new ZipError(`${file.name} is there twice`);
    if (file.size > maxFileBytes) throw new ZipError(`${file.name} is too large: ${file.size} bytes`);
    total += file.size;
    if (total > maxBytes) throw new ZipError(`its files are too large together: more than ${maxBytes} bytes`);
    if (files.size === maxZipFiles) throw new ZipError("too many files");
    files.set(file.name, file);
    at += listedBytes + file.name.length;
    offset += measureFile(file);
  }
  const all = [...files.values()];
  if (!bytesEqual(encodeZipEnd(all), bytes))
    throw new ZipError(`the directory at byte ${start} is not that of the files before it`);
  const read = async (name: string) => {
    const file = files.get(name);
    if (file === undefined) throw new ZipError(`${name} is not there`);
    return inflateFile(source, file, tools);
  };
  return { files: all, find: (name) => files.get(name), read };
}

/** Inflates the file to exactly the stated size and checksum. `file`: a result of {@link readZip}. Throws {@link ZipError}. */
export async function inflateFile(
  source: ByteSource,
  file: PlacedFile,
  tools: ZipTools,
): Promise<Uint8Array> {
  const { name, offset } = file;
  const bytes = await source.read(offset, measureFile(file));
  const header = encodeZipHeader(file);
  if (((bytes[6] ?? 0) & 1) === 1) throw new ZipError(`an encrypted file at byte ${offset}`);
  if (bytes.length < measureFile(file) || !bytesEqual(header, bytes.subarray(0, header.length)))
    throw new ZipError(`a header that is not the directory's at byte ${offset}`);
  let inflated: Uint8Array;
  try {
    inflated = await tools.inflate(bytes.subarray(header.length), file.size);
  } catch {
    throw new ZipError(`${name} does not inflate to the ${file.size} bytes that it states`);
  }
  if (inflated.length !== file.size || tools.crc32(inflated) !== file.crc)
    throw new ZipError(`${name} does not have the size and checksum that it states`);
  return inflated;
}

async function inflateStream(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const source = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const reader = source.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const inflated = new Uint8Array(maxBytes);
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return inflated.subarray(0, length);
    if (length + value.length > maxBytes) {
      await reader.cancel();
      throw new RangeError("more bytes than are stated");
    }
    inflated.set(value, length);
    length += value.length;
  }
}

const isInflatable = (bytes: Uint8Array, maxBytes: number) =>
  inflateStream(bytes, maxBytes).then(
    () => true,
    () => false,
  );

let ignoresJunk: Promise<boolean> | undefined;

/** Inflates with the engine's own code. By its specification that refuses bytes after the deflated ones; Node 20 doesn't. */
export async function inflateInBrowser(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const inflated = await inflateStream(bytes, maxBytes);
  // An empty final block, and a byte too many.
  ignoresJunk ??= isInflatable(Uint8Array.of(3, 0, 0), 0);
  if ((await ignoresJunk) && (await isInflatable(bytes.subarray(0, -1), maxBytes)))
    throw new RangeError("bytes after the deflated ones");
  return inflated;
}

/** CRC-32 as ZIP has it, for browsers, and for Node before 20.15. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  return rest;
});

export function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (let i = 0; i < bytes.length; i += 1)
    rest = (rest >>> 8) ^ (table[(rest ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return (rest ^ 0xffffffff) >>> 0;
}
