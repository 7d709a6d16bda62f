/**
 * ZIP archives (PKWARE APPNOTE 6.3) of one plain kind: every file deflated, names in ASCII, sizes and checksum in front of
 * the bytes, one fixed date, no comments, no extra fields. The reader accepts exactly what the writer writes. Programs
 * that disagree about an archive, because one reads the headers in front of the files and another those at the end, or
 * because of hidden, double or trailing bytes, cannot be played against each other by such a file.
 *
 *     header || name || deflated bytes      for each file
 *     directory                             every header again, with its place
 *     end                                   how many, and where the directory is
 */
import { bytesEqual, concatBytes, utf8Encode } from "./bytes";

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

export class ZipError extends Error {}

/** 16-bit counts without ZIP64. */
export const maxZipFiles = 65_534;

const headerBytes = 30;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9][A-Za-z0-9_-]*)*$/;
/** 2.0, for deflated files. */
const version = 20;
const deflated = 8;
/** 1980-01-01, the first date that there is. */
const date = 0x21;

function littleEndian(fields: readonly (readonly [value: number, bytes: 2 | 4])[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [value, bytes] of fields) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

/** The same in both headers: needed version, flags, method, time, date, checksum, sizes, length of the name, no extra. */
const facts = ({ name, crc, size, deflatedSize }: ZipFile) =>
  [
    [version, 2],
    [0, 2],
    [deflated, 2],
    [0, 2],
    [date, 2],
    [crc, 4],
    [deflatedSize, 4],
    [size, 4],
    [name.length, 2],
    [0, 2],
  ] as const;

export function encodeZipHeader(file: ZipFile): Uint8Array {
  if (!namePattern.test(file.name)) throw new RangeError(`not a name for an archive: ${file.name}`);
  return concatBytes(littleEndian([[0x04034b50, 4], ...facts(file)]), utf8Encode(file.name));
}

export function encodeZipEnd(files: readonly PlacedFile[]): Uint8Array {
  const entries = files.map((file) =>
    concatBytes(
      littleEndian([
        [0x02014b50, 4],
        [version, 2],
        ...facts(file),
        // No comment, disk 0, no attributes.
        ...([0, 0, 0].map((none) => [none, 2]) as [number, 2][]),
        [0, 4],
        [file.offset, 4],
      ]),
      utf8Encode(file.name),
    ),
  );
  const directory = concatBytes(...entries);
  const last = files.at(-1);
  const start = last === undefined ? 0 : last.offset + measureFile(last);
  const end = littleEndian([
    [0x06054b50, 4],
    [0, 4],
    [files.length, 2],
    [files.length, 2],
    [directory.length, 4],
    [start, 4],
    [0, 2],
  ]);
  return concatBytes(directory, end);
}

const measureFile = ({ name, deflatedSize }: ZipFile) => headerBytes + name.length + deflatedSize;

/** One header of ours at this place, or what is wrong with it. */
function readHeader(bytes: Uint8Array, view: DataView, offset: number): PlacedFile {
  const broken = (what: string) => new ZipError(`${what} at byte ${offset}`);
  if (offset + headerBytes > bytes.length) throw broken("the archive breaks off");
  const at16 = (at: number) => view.getUint16(offset + at, true);
  const at32 = (at: number) => view.getUint32(offset + at, true);
  if ((at16(6) & 1) === 1) throw broken("an encrypted file");
  const [crc, deflatedSize, size, nameLength] = [at32(14), at32(18), at32(22), at16(26)];
  const name = String.fromCharCode(
    ...bytes.subarray(offset + headerBytes, offset + headerBytes + nameLength),
  );
  if (!namePattern.test(name))
    throw broken(`the file name ${JSON.stringify(name)}, which no archive of ours has,`);
  const file = { name, crc, size, deflatedSize, offset };
  const own = encodeZipHeader(file);
  if (!bytesEqual(own, bytes.subarray(offset, offset + own.length)))
    throw broken("a header that no archive of ours has");
  if (offset + measureFile(file) > bytes.length) throw broken(`${name} breaks off`);
  return file;
}

export interface ZipArchive {
  files: readonly PlacedFile[];
  /** Inflated, of exactly the stated size and checksum. Throws {@link ZipError}. */
  read(name: string): Promise<Uint8Array>;
}

export interface ZipLimits {
  maxFileBytes: number;
  maxBytes: number;
}

/** Throws {@link ZipError} for every archive but the writer's own. Nothing is inflated before it is read. */
export function readZip(
  bytes: Uint8Array,
  tools: ZipTools,
  { maxFileBytes, maxBytes }: ZipLimits,
): ZipArchive {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const files = new Map<string, PlacedFile>();
  let offset = 0;
  let total = 0;
  while (offset + 4 <= bytes.length && view.getUint32(offset, true) === 0x04034b50) {
    const file = readHeader(bytes, view, offset);
    if (files.has(file.name)) throw new ZipError(`${file.name} is there twice`);
    if (file.size > maxFileBytes) throw new ZipError(`${file.name} is too large: ${file.size} bytes`);
    total += file.size;
    if (total > maxBytes) throw new ZipError(`its files are too large together: more than ${maxBytes} bytes`);
    if (files.size === maxZipFiles) throw new ZipError("too many files");
    files.set(file.name, file);
    offset += measureFile(file);
  }
  if (files.size === 0) throw new ZipError("not a ZIP archive of ours");
  const end = encodeZipEnd([...files.values()]);
  if (!bytesEqual(end, bytes.subarray(offset, offset + end.length)))
    throw new ZipError(`the directory at byte ${offset} is not that of the files before it`);
  if (offset + end.length !== bytes.length) throw new ZipError("bytes after the end of the archive");
  const read = async (name: string) => {
    const file = files.get(name);
    if (file === undefined) throw new ZipError(`${name} is not there`);
    return inflateFile(bytes, file, tools);
  };
  return { files: [...files.values()], read };
}

/** Inflated, of exactly the stated size and checksum. `file`: as {@link readZip} found it. Throws {@link ZipError}. */
export async function inflateFile(bytes: Uint8Array, file: PlacedFile, tools: ZipTools): Promise<Uint8Array> {
  const { name } = file;
  const start = file.offset + headerBytes + name.length;
  let inflated: Uint8Array;
  try {
    inflated = await tools.inflate(bytes.subarray(start, start + file.deflatedSize), file.size);
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

/** With the engine's own code. By its specification that refuses bytes after the deflated ones; Node 20 doesn't. */
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
