/**
 * Checkpoints (c2sp.org/tlog-checkpoint): the log's signed statement of its size and root.
 *
 *     example.com/log
 *     20852163
 *     CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
 */
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import type { SignEd25519, VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import { type Fault, fault } from "#lib/protocol/statement/outcome";
import { HASH_BYTES, isTreeSize } from "./merkle";
import {
  encodeNote,
  encodeSignatureLine,
  type NoteSignature,
  parseNote,
  type SignedNote,
  signNoteText,
  type VerifierKey,
  verifyNoteSignature,
} from "./signed-note";

export type Checkpoint = {
  origin: string;
  size: number;
  root: Uint8Array;
  /** Lines that are signed but mean nothing here. */
  extensions?: readonly string[];
};

export type CheckpointVerdict = { ok: true; checkpoint: Checkpoint; note: SignedNote } | Fault;

/** The note's text. Throws RangeError for what a checkpoint cannot hold. */
export function encodeCheckpoint({ origin, size, root, extensions = [] }: Checkpoint): string {
  if (!isTreeSize(size)) throw new RangeError("tree size");
  if (root.length !== HASH_BYTES) throw new RangeError("a root hash has 32 bytes");
  const lines = [origin, String(size), base64Encode(root), ...extensions];
  if (lines.some((line) => line === "" || line.includes("\n")))
    throw new RangeError("an empty or broken line");
  return `${lines.join("\n")}\n`;
}

/** Throws RangeError for every text but the one that {@link encodeCheckpoint} writes. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = "", sizeText = "", rootText = "", ...rest] = text.split("\n");
  const extensions = rest.slice(0, -1);
  const checkpoint: Checkpoint = {
    origin,
    size: parseDecimal(sizeText),
    root: base64Decode(rootText),
    ...(extensions.length > 0 && { extensions }),
  };
  if (encodeCheckpoint(checkpoint) !== text) throw new RangeError("not a checkpoint");
  return checkpoint;
}

/** The signed note. The log's key is named after its origin. */
export async function signCheckpoint(
  checkpoint: Checkpoint,
  logKey: VerifierKey,
  sign: SignEd25519,
): Promise<string> {
  if (checkpoint.origin !== logKey.name) throw new RangeError("the log's key is named after its origin");
  const text = encodeCheckpoint(checkpoint);
  return encodeNote({ text, signatures: [await signNoteText(text, logKey, sign)] });
}

/** Verifies the note as a checkpoint of the log that this key names. Never throws for the note. */
export function verifyCheckpoint(
  note: string,
  logKey: VerifierKey,
  verify?: VerifyEd25519,
): CheckpointVerdict {
  let parsed: SignedNote;
  let checkpoint: Checkpoint;
  try {
    parsed = parseNote(note);
    checkpoint = parseCheckpoint(parsed.text);
  } catch {
    return fault("checkpoint_malformed");
  }
  if (checkpoint.origin !== logKey.name) return fault("checkpoint_of_another_log");
  if (!verifyNoteSignature(parsed, logKey, verify)) return fault("checkpoint_signature_invalid");
  return { ok: true, checkpoint, note: parsed };
}

/** The note with more signature lines (cosignatures); a line that it has already is not repeated. */
export function addNoteSignatures(note: string, added: readonly NoteSignature[]): string {
  const { text, signatures } = parseNote(note);
  const lines = new Map<string, NoteSignature>();
  for (const signature of [...signatures, ...added]) {
    const line = encodeSignatureLine(signature);
    if (!lines.has(line)) lines.set(line, signature);
  }
  return encodeNote({ text, signatures: [...lines.values()] });
}

/** ASCII decimal without leading zeroes within the safe integers; throws RangeError otherwise. */
export function parseDecimal(text: string): number {
  const value = Number(text);
  if (!/^(?:0|[1-9]\d{0,15})$/.test(text) || !Number.isSafeInteger(value))
    throw new RangeError("not a decimal");
  return value;
}
