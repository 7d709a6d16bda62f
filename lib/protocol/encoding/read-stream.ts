/** Bytes of a stream whose sender is not trusted to end it. */

import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, hexEncode } from "./bytes";

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Null as soon as there are more than `maxBytes`; `refuse` then has the rest (default: cancels the stream). Rejects as
 * the stream does.
 */
export async function readAtMost(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  refuse: (reader: Reader) => void = (reader) => void reader.cancel().catch(() => undefined),
): Promise<Uint8Array | null> {
  if (stream === null) return new Uint8Array();
  const reader: Reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return concatBytes(...chunks);
    length += value.length;
    if (length > maxBytes) {
      refuse(reader);
      return null;
    }
    chunks.push(value);
  }
}

/** Reads a stream away, up to `maxBytes`, and then cancels it. Never rejects. */
export async function discard(reader: Reader, maxBytes: number): Promise<void> {
  try {
    for (let length = 0; length < maxBytes; ) {
      const { done, value } = await reader.read();
      if (done) return;
      length += value.length;
    }
    await reader.cancel();
  } catch {
    // the sender has gone
  }
}

/** Same as readAtMost, decoded as `Response.text()` does. */
export async function readTextAtMost(response: Response, maxBytes: number): Promise<string | null> {
  const bytes = await readAtMost(response.body, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

/* The SHA-256 of a file of any size, a piece at a time. */

/** Hex. A piece at a time, so that a file of gigabytes is no array of gigabytes. */
export async function hashFile(file: Blob, onProgress: (share: number) => void = () => {}): Promise<string> {
  const hash = sha256.create();
  const reader = file.stream().getReader();
  let done = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    hash.update(piece.value);
    done += piece.value.length;
    onProgress(done / file.size);
  }
  return hexEncode(hash.digest());
}
