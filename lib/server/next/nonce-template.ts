/**
 * A page that is the same for everyone but for its nonce, compressed once. In gzip (RFC 1952) the parts between two
 * nonces are deflate blocks that refer to nothing outside their part, and each nonce is a stored block (RFC 1951
 * section 3.2.4) between them: an answer costs a join and a checksum; compressing costs 1 to 6 ms.
 */
import { constants, crc32, deflateRawSync } from "node:zlib";

export interface NonceTemplate {
  plain(nonce: string): Buffer;
  gzip(nonce: string): Buffer;
}

const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty last block with fixed codes. */
const lastBlock = Buffer.from([0x03, 0x00]);

function storedBlock(content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(content.length, 1);
  head.writeUInt16LE(~content.length & 0xffff, 3);
  return Buffer.concat([head, content]);
}

/** Ends on a byte's boundary, and is not the last block. */
const compressPart = (part: Buffer) =>
  deflateRawSync(part, { level: 9, finishFlush: constants.Z_SYNC_FLUSH });

function join(parts: readonly Buffer[], between: Buffer): Buffer[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [between, part]));
}

/** `nonce`: the one in `text` now. Another one must be of the same alphabet, not of the same length. */
export function createNonceTemplate(text: string, nonce: string): NonceTemplate {
  const parts = text.split(nonce).map((part) => Buffer.from(part));
  let compressed: Buffer[] | undefined;
  const plain = (other: string) => Buffer.concat(join(parts, Buffer.from(other)));
  return {
    plain,
    gzip(other) {
      compressed ??= parts.map(compressPart);
      const content = plain(other);
      const trailer = Buffer.alloc(8);
      trailer.writeUInt32LE(crc32(content), 0);
      trailer.writeUInt32LE(content.length % 2 ** 32, 4);
      return Buffer.concat([
        header,
        ...join(compressed, storedBlock(Buffer.from(other))),
        lastBlock,
        trailer,
      ]);
    },
  };
}
