/**
 * `predicate.not_before`: something that could not be known before a certain time, inside the signed bytes. So the
 * statement was made after it, whatever the service's own clock says.
 *
 * - A cosigned checkpoint: the witnesses' signatures are unpredictable to the service, and each states its time.
 * - A round of drand's quicknet: its signature needs a threshold of drand's operators.
 */
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import { parseCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { verifyCosignature } from "#lib/protocol/tlog/cosignature";
import { parseNote, signaturesOf, type VerifierKey } from "#lib/protocol/tlog/signed-note";
import type { CosignedBound } from "./not-before-shape";

export const hashNote = (note: string): string => hexEncode(sha256(utf8Encode(note)));

/** The bound that this cosigned note gives. Throws RangeError for what is not a checkpoint. */
export function boundOf(note: string): CosignedBound {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  return { type: "tlog-cosignature", origin, size, checkpoint_hash: hashNote(note) };
}

export interface Witnessed {
  name: string;
  timeMs: number;
}

/**
 * Who cosigned the note, and when. Undefined if one of these witnesses' lines does not verify, or the note is none;
 * lines of others are ignored.
 */
export function readCosigners(
  note: string,
  witnesses: readonly VerifierKey[],
  verify?: VerifyEd25519,
): Witnessed[] | undefined {
  try {
    const parsed = parseNote(note);
    const named = witnesses.filter((key) => signaturesOf(parsed, key).length > 0);
    const times = named.map((key) => verifyCosignature(parsed, key, verify));
    if (times.includes(undefined)) return undefined;
    return named.map(({ name }, i) => ({ name, timeMs: Number(times[i]) * 1000 }));
  } catch {
    return undefined;
  }
}

/** Sound as soon as one of these witnesses is honest: later signatures were not known at the earliest time. */
export const earliest = (witnessed: readonly Witnessed[]): number =>
  Math.min(...witnessed.map(({ timeMs }) => timeMs));
