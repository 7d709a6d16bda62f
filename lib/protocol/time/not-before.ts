/**
 * `predicate.not_before`: something that could not be known before a certain time, inside the signed bytes. So the
 * statement was made after it, whatever the service's own clock says.
 *
 * - A cosigned checkpoint: the witnesses' signatures are unpredictable to the service, and each states its time.
 * - A round of drand's quicknet: its signature needs a threshold of drand's operators.
 */

import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import {
  findSignatures,
  parseCheckpoint,
  parseNote,
  type VerifierKey,
  verifyCosignature,
} from "#lib/protocol/tlog/checkpoint";
import type { BeaconBound, CosignedBound } from "./not-before-shape";

export const hashNote = (note: string): string => hexEncode(sha256(utf8Encode(note)));

/** The bound that this cosigned note gives. Throws RangeError for what is not a checkpoint. */
export function toBound(note: string): CosignedBound {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  return { type: "tlog-cosignature", origin, size, checkpoint_hash: hashNote(note) };
}

export interface Witnessed {
  name: string;
  timeMs: number;
}

/**
 * Reads cosigners of the note and their times. Undefined if one of these witnesses' lines does not verify, or it is no note;
 * others' lines are ignored.
 */
export function readCosigners(
  note: string,
  witnesses: readonly VerifierKey[],
  verify?: VerifyEd25519,
): Witnessed[] | undefined {
  try {
    const parsed = parseNote(note);
    const named = witnesses.filter((key) => findSignatures(parsed, key).length > 0);
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

/* drand's quicknet, the League of Entropy's public beacon (scheme bls-unchained-g1-rfc9380): a round every 3 seconds. */

export const quicknet = {
  /** The chain's hash: what its API is addressed by. */
  chain: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
  /** hex, compressed, on G2 */
  publicKey:
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
  genesisSeconds: 1_692_803_367,
  periodSeconds: 3,
} as const;

/** Time at which the round was due; it cannot be known before. */
export function roundTimeMs(round: number): number {
  return (quicknet.genesisSeconds + quicknet.periodSeconds * (round - 1)) * 1000;
}

/** Parses the answer of `GET <url>/<chain>/public/latest`; undefined for anything else. The signature stays unchecked. */
export function parseRound(text: string): BeaconBound | undefined {
  try {
    const { round, signature } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isSafeInteger(round) || Number(round) < 1) return undefined;
    if (typeof signature !== "string" || !/^[0-9a-f]{96}$/.test(signature)) return undefined;
    return { type: "drand", chain: quicknet.chain, round: Number(round), signature };
  } catch {
    return undefined;
  }
}
