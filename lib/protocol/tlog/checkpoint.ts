/**
 * Checkpoints (c2sp.org/tlog-checkpoint): the log's signed statement of its size and root.
 *
 *     example.com/log
 *     20852163
 *     CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
 */
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  concatBytes,
  hexDecode,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import {
  PUBLIC_KEY_BYTES,
  SIGNATURE_BYTES,
  type SignEd25519,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import { type Fault, fault } from "#lib/protocol/statement/outcome";
import { HASH_BYTES, isTreeSize } from "./merkle";
import { ML_DSA_PUBLIC_KEY_BYTES, ML_DSA_SIGNATURE_BYTES, verifyMlDsa } from "./ml-dsa";

/*
 * Signed notes and verifier keys (c2sp.org/signed-note):
 *
 *     text that ends in a newline
 *
 *     — example.com/log Az3grlgtzPICa5OS8npVmf1Myq/…      base64(key ID[4] ‖ signature)
 *
 *     example.com/log+033de0ae+AQ…                        vkey: name+hex(key ID)+base64(type ‖ public key)
 */

/** 1: Ed25519 over the note's text; 4 and 6: timestamped cosignatures by Ed25519 and ML-DSA-44. */
export type NoteKeyType = 1 | 4 | 6;

export type VerifierKey = {
  name: string;
  type: NoteKeyType;
  publicKey: Uint8Array;
  keyId: Uint8Array;
};

/** `signature` is what follows the key ID; its shape depends on the key. */
export type NoteSignature = { name: string; keyId: Uint8Array; signature: Uint8Array };

export type SignedNote = { text: string; signatures: NoteSignature[] };

const KEY_ID_BYTES = 4;
/** The specification asks for at least 16. */
const MAX_SIGNATURES = 100;
const MAX_NOTE_CHARACTERS = 1_000_000;

/** All 32 bytes of the hash whose first four are the key ID; Sigstore's trust roots name a log by it. */
export function computeNoteKeyHash(name: string, type: NoteKeyType, publicKey: Uint8Array): Uint8Array {
  return sha256(utf8Encode(`${name}\n`), Uint8Array.of(type), publicKey);
}

/** Throws RangeError for a name that notes cannot carry or a key of another length. */
export function makeVerifierKey(name: string, type: NoteKeyType, publicKey: Uint8Array): VerifierKey {
  if (!isKeyName(name)) throw new RangeError("a key name has no spaces, plus signs or control characters");
  const length = type === 6 ? ML_DSA_PUBLIC_KEY_BYTES : PUBLIC_KEY_BYTES;
  if (publicKey.length !== length) throw new RangeError(`this public key has ${length} bytes`);
  return { name, type, publicKey, keyId: computeNoteKeyHash(name, type, publicKey).slice(0, KEY_ID_BYTES) };
}

export function encodeVerifierKey({ name, type, publicKey, keyId }: VerifierKey): string {
  return `${name}+${hexEncode(keyId)}+${base64Encode(concatBytes(Uint8Array.of(type), publicKey))}`;
}

/** Throws RangeError if the text is no vkey of a type known here or its key ID does not fit. */
export function parseVerifierKey(vkey: string): VerifierKey {
  const match = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey);
  if (match === null) throw new RangeError("not a verifier key");
  const [, name = "", keyIdHex = "", encoded = ""] = match;
  const [type, ...publicKey] = base64Decode(encoded);
  if (type !== 1 && type !== 4 && type !== 6) throw new RangeError("unknown type of verifier key");
  const key = makeVerifierKey(name, type, Uint8Array.from(publicKey));
  if (!bytesEqual(key.keyId, hexDecode(keyIdHex))) throw new RangeError("the verifier key's ID does not fit");
  return key;
}

export function encodeSignatureLine({ name, keyId, signature }: NoteSignature): string {
  return `— ${name} ${base64Encode(concatBytes(keyId, signature))}\n`;
}

/** Parses one or more signature lines, a witness's answer; throws RangeError for anything else. */
export function parseSignatureLines(lines: string): NoteSignature[] {
  if (!lines.endsWith("\n")) throw new RangeError("a signature line ends in a newline");
  const signatures = lines.slice(0, -1).split("\n").map(parseSignatureLine);
  if (signatures.length > MAX_SIGNATURES) throw new RangeError("too many signatures");
  return signatures;
}

/** Throws RangeError for a text or signatures that a note cannot hold. */
export function encodeNote({ text, signatures }: SignedNote): string {
  const note = `${text}\n${signatures.map(encodeSignatureLine).join("")}`;
  if (parseNote(note).text !== text) throw new RangeError("not the text of a note");
  return note;
}

/** Throws RangeError for anything but a well-formed note; says nothing about its signatures. */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_NOTE_CHARACTERS) throw new RangeError("the note is too long");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the specification forbids exactly these
  if (!note.isWellFormed() || /[\x00-\x09\x0b-\x1f]/.test(note))
    throw new RangeError("not the text of a note");
  const blank = note.lastIndexOf("\n\n");
  if (blank < 0) throw new RangeError("the note has no signatures");
  return { text: note.slice(0, blank + 1), signatures: parseSignatureLines(note.slice(blank + 2)) };
}

export async function signNoteText(
  text: string,
  key: VerifierKey,
  sign: SignEd25519,
): Promise<NoteSignature> {
  if (key.type !== 1) throw new RangeError("only keys of type 1 sign a note's text");
  return { name: key.name, keyId: key.keyId, signature: await sign(utf8Encode(text)) };
}

/** Notes of one log are few, and each is on many receipts: a megabyte when full. */
const maxVerified = 1_000;
const verified = new Set<string>();

/** Verified once, however many receipts carry the note: only that a signature holds is remembered. */
function holds(signature: Uint8Array, message: Uint8Array, key: VerifierKey, verify: VerifyEd25519): boolean {
  // Rejects other lengths: such a signature could have the name of another triple that holds.
  if (signature.length !== (key.type === 6 ? ML_DSA_SIGNATURE_BYTES : SIGNATURE_BYTES)) return false;
  const name = hexEncode(sha256(signature, key.publicKey, message));
  if (verified.has(name)) return true;
  if (!verify(signature, message, key.publicKey)) return false;
  if (verified.size === maxVerified) verified.clear();
  verified.add(name);
  return true;
}

/**
 * Verifies a type 1 key's signature on the note. Lines of other keys are ignored; if several lines claim this key,
 * every one must verify.
 */
export function verifyNoteSignature(
  note: SignedNote,
  key: VerifierKey,
  verify: VerifyEd25519 = verifyEd25519Strict,
): boolean {
  if (key.type !== 1) throw new RangeError("only keys of type 1 sign a note's text");
  const own = findSignatures(note, key);
  return own.length > 0 && own.every(({ signature }) => holds(signature, utf8Encode(note.text), key, verify));
}

/** The signature lines that claim this key, by name and key ID. */
export function findSignatures(note: SignedNote, key: VerifierKey): NoteSignature[] {
  return note.signatures.filter(({ name, keyId }) => name === key.name && bytesEqual(keyId, key.keyId));
}

function parseSignatureLine(line: string): NoteSignature {
  const match = /^— (\S+) (\S+)$/.exec(line);
  if (match === null) throw new RangeError("not a signature line");
  const [, name = "", encoded = ""] = match;
  const bytes = base64Decode(encoded);
  if (!isKeyName(name) || bytes.length <= KEY_ID_BYTES) throw new RangeError("not a signature line");
  return { name, keyId: bytes.slice(0, KEY_ID_BYTES), signature: bytes.slice(KEY_ID_BYTES) };
}

function isKeyName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the specification forbids exactly these
  return name.isWellFormed() && /^[^\p{White_Space}+\x00-\x1f]+$/u.test(name);
}

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
  const read = readCheckpointNote(note);
  if (read === null) return fault("checkpoint_malformed");
  const { checkpoint, parsed } = read;
  if (checkpoint.origin !== logKey.name) return fault("checkpoint_of_another_log");
  if (!verifyNoteSignature(parsed, logKey, verify)) return fault("checkpoint_signature_invalid");
  return { ok: true, checkpoint, note: parsed };
}

interface ReadCheckpoint {
  parsed: SignedNote;
  checkpoint: Checkpoint;
}

/** The last note that was read: several checks read each receipt's, and many receipts have the same. */
let lastRead: { note: string; read: ReadCheckpoint | null } | undefined;

/** Null for what is no checkpoint; says nothing about its signatures. */
function readCheckpointNote(note: string): ReadCheckpoint | null {
  if (lastRead?.note === note) return lastRead.read;
  let read: ReadCheckpoint | null = null;
  try {
    const parsed = parseNote(note);
    read = { parsed, checkpoint: parseCheckpoint(parsed.text) };
  } catch {}
  lastRead = { note, read };
  return read;
}

/** The origin that a checkpoint states; null for what is none. */
export const readOrigin = (note: string): string | null =>
  readCheckpointNote(note)?.checkpoint.origin ?? null;

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

/*
 * Cosignatures (c2sp.org/tlog-cosignature). A cosignature says: at this time this was the largest consistent checkpoint of
 * the log that its maker had seen. By Ed25519 (type 0x04), over
 *
 *     cosignature/v1
 *     time 1679315147
 *     <the checkpoint's text>
 *
 * and by ML-DSA-44 (type 0x06), over a structure that names its maker and has no other lines than the first three.
 */

const TIME_BYTES = 8;

/** `text` is the checkpoint's text with its final newline, without signatures. */
export async function cosignCheckpoint(
  text: string,
  key: VerifierKey,
  timeSeconds: number,
  sign: SignEd25519,
): Promise<NoteSignature> {
  if (key.type !== 4) throw new RangeError("only keys of type 4 sign this message");
  const signature = await sign(utf8Encode(cosignatureMessage(text, timeSeconds)));
  return { name: key.name, keyId: key.keyId, signature: concatBytes(encodeTime(timeSeconds), signature) };
}

interface Cosignature {
  timeSeconds: number;
  signature: Uint8Array;
  /** Bytes that are signed. */
  message: Uint8Array;
}

/** The lines that claim this key, taken apart; undefined if one has not the form. */
export function readCosignatures(note: SignedNote, key: VerifierKey): Cosignature[] | undefined {
  requireCosigner(key);
  const length = key.type === 6 ? ML_DSA_SIGNATURE_BYTES : SIGNATURE_BYTES;
  const found: Cosignature[] = [];
  for (const { signature } of findSignatures(note, key)) {
    if (signature.length !== TIME_BYTES + length) return undefined;
    const timeSeconds = Number(new DataView(signature.slice(0, TIME_BYTES).buffer).getBigUint64(0));
    if (!Number.isSafeInteger(timeSeconds)) return undefined;
    const message =
      key.type === 6
        ? subtreeMessage(key.name, timeSeconds, parseCheckpoint(note.text))
        : utf8Encode(cosignatureMessage(note.text, timeSeconds));
    found.push({ timeSeconds, signature: signature.subarray(TIME_BYTES), message });
  }
  return found;
}

/** The time of the note's cosignature by this key; undefined if it has none that verifies. Type 6: ml-dsa.ts is loaded. */
export function verifyCosignature(
  note: SignedNote,
  key: VerifierKey,
  verify: VerifyEd25519 = verifyEd25519Strict,
): number | undefined {
  const found = readCosignatures(note, key) ?? [];
  const verifyOwn = key.type === 6 ? verifyMlDsa : verify;
  // Requires every line to hold, like the log's own key: a false line beside a true one is not overlooked.
  const isGood = found.every(({ signature, message }) => holds(signature, message, key, verifyOwn));
  return isGood && found.length > 0 ? Math.max(...found.map(({ timeSeconds }) => timeSeconds)) : undefined;
}

export function cosignatureMessage(text: string, timeSeconds: number): string {
  if (!Number.isSafeInteger(timeSeconds) || timeSeconds < 0) throw new RangeError("a POSIX time in seconds");
  return `cosignature/v1\ntime ${timeSeconds}\n${text}`;
}

/** `cosigned_message` of a whole tree, in TLS's notation. Throws RangeError for names that it can't hold. */
export function subtreeMessage(
  name: string,
  timeSeconds: number,
  { origin, size, root }: Pick<Checkpoint, "origin" | "size" | "root">,
): Uint8Array {
  const texts = [name, origin].map(utf8Encode);
  if (texts.some(({ length }) => length < 1 || length > 255))
    throw new RangeError("a name of 1 to 255 bytes");
  const [cosigner, log] = texts.map((text) => concatBytes(Uint8Array.of(text.length), text));
  return concatBytes(
    utf8Encode("subtree/v1\n\0"),
    cosigner ?? new Uint8Array(),
    encodeTime(timeSeconds),
    log ?? new Uint8Array(),
    encodeTime(0),
    encodeTime(size),
    root,
  );
}

/** Signature line of a key of type 6, from its signature over {@link subtreeMessage}. */
export const encodeSubtreeLine = (key: VerifierKey, timeSeconds: number, signature: Uint8Array): string =>
  encodeSignatureLine({ ...key, signature: concatBytes(encodeTime(timeSeconds), signature) });

function encodeTime(timeSeconds: number): Uint8Array {
  const bytes = new Uint8Array(TIME_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(timeSeconds));
  return bytes;
}

function requireCosigner(key: VerifierKey): void {
  if (key.type === 1) throw new RangeError("only keys of type 4 and 6 cosign");
}
