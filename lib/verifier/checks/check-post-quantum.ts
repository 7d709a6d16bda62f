/** The log's ML-DSA-44 signature on a checkpoint, a check of its own where a key for it is trusted or was seen before. */
import { fail, pass, skip } from "#lib/protocol/statement/outcome";
import {
  findSignatures,
  type NoteSignature,
  parseNote,
  readCosignatures,
  readOrigin,
  type SignedNote,
  type VerifierKey,
} from "#lib/protocol/tlog/checkpoint";
import { checkMlDsa, ML_DSA_SIGNATURE_BYTES } from "#lib/protocol/tlog/ml-dsa";
import type { VerifierCheck } from "#lib/verifier/report/report";
import type { VerifierTrust } from "./trust";

const isOwnLine =
  (origin: string) =>
  ({ name, signature }: NoteSignature) =>
    name === origin && signature.length === 8 + ML_DSA_SIGNATURE_BYTES;

const hasOwnLine = (note: string | null, origin: string): boolean =>
  note !== null && readOrigin(note) === origin && parseNote(note).signatures.some(isOwnLine(origin));

/** Requires each line that claims the key to verify. */
async function isSignedBy(key: VerifierKey, note: SignedNote): Promise<boolean> {
  const found = readCosignatures(note, key) ?? [];
  for (const { signature, message } of found)
    if (!(await checkMlDsa(signature, message, key.publicKey))) return false;
  return found.length > 0;
}

let last: { note: string; key: VerifierKey; isSigned: boolean | null } | undefined;

/** Null without a line of the key. Many receipts in a row have the same checkpoint. */
async function readSigned(key: VerifierKey, note: string): Promise<boolean | null> {
  if (last?.note === note && last.key === key) return last.isSigned;
  const parsed = parseNote(note);
  const isSigned = findSignatures(parsed, key).length === 0 ? null : await isSignedBy(key, parsed);
  last = { note, key, isSigned };
  return isSigned;
}

export interface PostQuantumRequest {
  /** True for the checkpoint that the log publishes: one without is a step back. */
  isPublished?: boolean;
  /** Checkpoint that was published before. */
  remembered?: string | null;
}

/** `note`: a checkpoint whose own signature holds. */
export async function checkPostQuantum(
  note: string,
  { postQuantumKeys = [] }: VerifierTrust,
  { isPublished = false, remembered = null }: PostQuantumRequest = {},
): Promise<VerifierCheck[]> {
  const name = "post_quantum";
  const origin = readOrigin(note) ?? "";
  const key = postQuantumKeys.find((one) => one.name === origin);
  if (key === undefined)
    return hasOwnLine(remembered, origin) ? [{ name, ...fail("post_quantum_lost") }] : [];
  const isSigned = await readSigned(key, note);
  if (isSigned === null)
    return [{ name, ...(isPublished ? fail("post_quantum_lost") : skip("post_quantum_absent")) }];
  return [
    {
      name,
      ...(isSigned
        ? pass("the log has signed this checkpoint by ML-DSA-44 too")
        : fail("post_quantum_invalid")),
    },
  ];
}
