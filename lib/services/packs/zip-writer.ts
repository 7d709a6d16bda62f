/** A ZIP archive (lib/protocol/encoding/zip.ts) as it is sent: each file goes out when it is there, and only the directory is kept. */
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import { encodeZipEnd, encodeZipHeader, maxZipFiles, type PlacedFile } from "#lib/protocol/encoding/zip";
import { maxPackBytes } from "#lib/protocol/pack/pack-files";
import { describeFile, type PackedFile } from "#lib/protocol/pack/pack-manifest";

const deflate = promisify(deflateRaw);

export interface ZipWriter {
  files: readonly PackedFile[];
  /** The bytes to send. Throws RangeError if the archive would be too large for its format. */
  add(name: string, bytes: Uint8Array): Promise<Uint8Array>;
  end(): Uint8Array;
}

export function createZipWriter(): ZipWriter {
  const placed: PlacedFile[] = [];
  const files: PackedFile[] = [];
  let offset = 0;
  let total = 0;
  return {
    files,
    add: async (name, bytes) => {
      const deflated = await deflate(bytes);
      const file = { name, crc: crc32(bytes), size: bytes.length, deflatedSize: deflated.length };
      const sent = Buffer.concat([encodeZipHeader(file), deflated]);
      total += bytes.length;
      if (total > maxPackBytes || placed.length === maxZipFiles)
        throw new RangeError("the archive would be too large");
      placed.push({ ...file, offset });
      files.push(describeFile(name, bytes));
      offset += sent.length;
      return sent;
    },
    end: () => encodeZipEnd(placed),
  };
}
