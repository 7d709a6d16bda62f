/**
 * A ZIP archive (lib/protocol/encoding/zip.ts) as it is sent: each file goes out when it is there, and only the directory
 * is kept.
 */
import { promisify } from "node:util";
import { crc32, deflateRaw, deflateRawSync } from "node:zlib";
import {
  encodeZipEnd,
  encodeZipHeader,
  maxZipBytes,
  maxZipFiles,
  type PlacedFile,
} from "#lib/protocol/encoding/zip";
import { describeFile, maxPackBytes, type PackedFile } from "#lib/protocol/pack/pack-manifest";

const deflateAside = promisify(deflateRaw);
/** Below it, to ask another thread takes longer than to deflate: 0.2 ms for a receipt, of which 0.07 are deflate's. */
const largeBytes = 32 * 1024;

/** In one piece, and at a level that takes seven tenths of the default's time for 1 % more bytes. */
const deflateSmall = (bytes: Uint8Array) =>
  deflateRawSync(bytes, { level: 4, chunkSize: Math.max(64, bytes.length) });

export const deflate = async (bytes: Uint8Array): Promise<Uint8Array> =>
  bytes.length < largeBytes ? deflateSmall(bytes) : deflateAside(bytes);

export interface ZipWriter {
  files: readonly PackedFile[];
  /**
   * The bytes to send. `deflated`: of the bytes, if they were deflated before. Throws RangeError if the archive would be
   * too large for its format.
   */
  add(name: string, bytes: Uint8Array, deflated?: Uint8Array): Promise<Uint8Array>;
  end(): Uint8Array;
}

export function createZipWriter(): ZipWriter {
  const placed: PlacedFile[] = [];
  const files: PackedFile[] = [];
  let offset = 0;
  let total = 0;
  return {
    files,
    add: async (name, bytes, given) => {
      const deflated = given ?? (await deflate(bytes));
      const file = { name, crc: crc32(bytes), size: bytes.length, deflatedSize: deflated.length };
      const sent = Buffer.concat([encodeZipHeader(file), deflated]);
      total += bytes.length;
      if (total > maxPackBytes || placed.length === maxZipFiles || offset + sent.length > maxZipBytes)
        throw new RangeError("the archive would be too large");
      placed.push({ ...file, offset });
      files.push(describeFile(name, bytes));
      offset += sent.length;
      return sent;
    },
    end: () => encodeZipEnd(placed),
  };
}
