/** The SHA-256 of a file of any size, a piece at a time. */
import { sha256 } from "@noble/hashes/sha2.js";
import { hexEncode } from "./bytes";

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
