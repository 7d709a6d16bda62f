/**
 * A ZIP archive (lib/protocol/encoding/zip.ts) as it is sent: each file goes out when it is there, and only the directory
 * is kept.
 */
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import type { Share } from "#lib/jobs/fair-queue";
import type { LogContext } from "#lib/log/context";
import { hexEncode, joinBytes, sha256, splitBytes } from "#lib/protocol/encoding/bytes";
import {
  encodeZipEnd,
  encodeZipHeader,
  maxZipBytes,
  maxZipFiles,
  type PlacedFile,
} from "#lib/protocol/encoding/zip";
import { maxPackBytes, type PackedFile } from "#lib/protocol/pack/pack-manifest";

const deflateAside = promisify(deflateRaw);

/**
 * Options for entries: a level that takes seven tenths of the default's time for 1 % more bytes, and tables of half the size,
 * which take longer to clear than a small file to fill.
 */
const entryOptions = { level: 4, memLevel: 7 };

export interface DeflatedFile {
  deflated: Uint8Array;
  crc: number;
  size: number;
  sha256: string;
}

async function deflateFile(bytes: Uint8Array, options = {}): Promise<DeflatedFile> {
  const deflated = await deflateAside(bytes, options);
  return { deflated, crc: crc32(bytes), size: bytes.length, sha256: hexEncode(sha256(bytes)) };
}

/** Deflates entries in the log's thread; to the same bytes without it if it refuses. */
export async function deflateTogether(
  { logPool }: Pick<LogContext, "logPool">,
  files: readonly Uint8Array[],
  share: Share,
): Promise<DeflatedFile[]> {
  const job = { ...joinBytes(files), options: entryOptions };
  const made = await logPool.run("deflateFiles", job, share).catch(() => null);
  if (made === null) return Promise.all(files.map((file) => deflateFile(file, entryOptions)));
  const { crcs, digests } = made;
  return splitBytes(made.deflated).map((deflated, i) => ({
    deflated,
    crc: crcs[i] ?? 0,
    size: files[i]?.length ?? 0,
    sha256: digests[i] ?? "",
  }));
}

export interface ZipWriter {
  files: readonly PackedFile[];
  /** The bytes to send. Throws RangeError if the archive would be too large for its format. */
  place(name: string, file: DeflatedFile): Uint8Array;
  /** Deflates and places. */
  add(name: string, bytes: Uint8Array): Promise<Uint8Array>;
  end(): Uint8Array;
}

export function createZipWriter(): ZipWriter {
  const placed: PlacedFile[] = [];
  const files: PackedFile[] = [];
  let offset = 0;
  let total = 0;
  const place: ZipWriter["place"] = (name, { deflated, crc, size, sha256 }) => {
    const file = { name, crc, size, deflatedSize: deflated.length };
    const sent = Buffer.concat([encodeZipHeader(file), deflated]);
    total += size;
    if (total > maxPackBytes || placed.length === maxZipFiles || offset + sent.length > maxZipBytes)
      throw new RangeError("the archive would be too large");
    placed.push({ ...file, offset });
    files.push({ name, sha256, length: size });
    offset += sent.length;
    return sent;
  };
  return {
    files,
    place,
    add: async (name, bytes) => place(name, await deflateFile(bytes)),
    end: () => encodeZipEnd(placed),
  };
}
