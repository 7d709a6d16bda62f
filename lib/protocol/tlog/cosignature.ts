/**
 * Witness cosignatures (c2sp.org/tlog-cosignature, Ed25519 type 0x04). A cosignature says: at this
 * time this was the largest consistent checkpoint of the log that the witness had seen.
 *
 *     cosignature/v1
 *     time 1679315147
 *     <the checkpoint's text>
 */
import { concatBytes, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  SIGNATURE_BYTES,
  type SignEd25519,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import { type NoteSignature, type SignedNote, signaturesOf, type VerifierKey } from "./signed-note";

const TIME_BYTES = 8;

/** `text` is the checkpoint's text with its final newline, without signatures. */
export async function cosignCheckpoint(
  text: string,
  key: VerifierKey,
  timeSeconds: number,
  sign: SignEd25519,
): Promise<NoteSignature> {
  requireCosigner(key);
  const signature = await sign(cosignatureMessage(text, timeSeconds));
  return { name: key.name, keyId: key.keyId, signature: concatBytes(encodeTime(timeSeconds), signature) };
}

/** The time of the note's cosignature by this key; undefined if it has none that verifies. */
export function verifyCosignature(
  note: SignedNote,
  key: VerifierKey,
  verify: VerifyEd25519 = verifyEd25519Strict,
): number | undefined {
  requireCosigner(key);
  const times = signaturesOf(note, key).map(({ signature }) => {
    if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined;
    const timeSeconds = Number(new DataView(signature.slice(0, TIME_BYTES).buffer).getBigUint64(0));
    if (!Number.isSafeInteger(timeSeconds)) return undefined;
    const message = cosignatureMessage(note.text, timeSeconds);
    return verify(signature.subarray(TIME_BYTES), message, key.publicKey) ? timeSeconds : undefined;
  });
  // As for the log's own key: a false line beside a true one is not overlooked.
  if (times.includes(undefined)) return undefined;
  return times.length === 0 ? undefined : Math.max(...(times as number[]));
}

export function cosignatureMessage(text: string, timeSeconds: number): Uint8Array {
  if (!Number.isSafeInteger(timeSeconds) || timeSeconds < 0) throw new RangeError("a POSIX time in seconds");
  return utf8Encode(`cosignature/v1\ntime ${timeSeconds}\n${text}`);
}

function encodeTime(timeSeconds: number): Uint8Array {
  const bytes = new Uint8Array(TIME_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(timeSeconds));
  return bytes;
}

function requireCosigner(key: VerifierKey): void {
  if (key.type !== 4) throw new RangeError("only keys of type 4 cosign");
}
