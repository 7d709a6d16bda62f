/** The client's side of a witness (c2sp.org/tlog-witness): `POST <prefix>/add-checkpoint`. */

import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { type AddCheckpointRequest, encodeAddCheckpoint } from "#lib/protocol/tlog/add-checkpoint";
import { addNoteSignatures, parseDecimal } from "#lib/protocol/tlog/checkpoint";
import { verifyCosignature } from "#lib/protocol/tlog/cosignature";
import {
  encodeSignatureLine,
  parseNote,
  parseSignatureLines,
  signaturesOf,
} from "#lib/protocol/tlog/signed-note";
import type { Witness } from "#lib/protocol/tlog/witness-policy";

export type WitnessAnswer =
  | { kind: "cosigned"; line: string; timeSeconds: number }
  /** The size at which the witness knows the log, if it says so: the request named another size or root. */
  | { kind: "conflict"; size: number | null }
  | { kind: "failed"; problem: string };

const timeoutMs = 5_000;
const maxAnswerBytes = 100_000;

/** It knows no log of this origin, or the log by another key (c2sp.org/tlog-witness). */
const unknownLog = ": give it this log's vkey, which /v1/pubkey shows";

/** The witness's own line out of its answer, verified; lines of unknown keys are ignored. */
function readCosignature(checkpoint: string, { key }: Witness, body: string): WitnessAnswer {
  const note = parseNote(addNoteSignatures(checkpoint, parseSignatureLines(body)));
  const timeSeconds = verifyCosignature(note, key);
  if (timeSeconds === undefined) return { kind: "failed", problem: "its cosignature does not verify" };
  const [own] = signaturesOf(note, key);
  if (own === undefined) return { kind: "failed", problem: "it did not cosign" };
  return { kind: "cosigned", line: encodeSignatureLine(own), timeSeconds };
}

async function readAnswer(response: Response, witness: Witness, checkpoint: string): Promise<WitnessAnswer> {
  const body = await readTextAtMost(response, maxAnswerBytes);
  if (body === null) return { kind: "failed", problem: "its answer is too long" };
  if (response.status === 200) return readCosignature(checkpoint, witness, body);
  if (response.status === 409) {
    const isSize = response.headers.get("content-type") === "text/x.tlog.size";
    return { kind: "conflict", size: isSize ? parseDecimal(body.trimEnd()) : null };
  }
  const advice = response.status === 403 || response.status === 404 ? unknownLog : "";
  return { kind: "failed", problem: `it answered ${response.status}${advice}` };
}

/** Never rejects: a witness that is down or talks nonsense is its own trouble. */
export async function addCheckpoint(witness: Witness, request: AddCheckpointRequest): Promise<WitnessAnswer> {
  try {
    const response = await fetch(`${witness.url}/add-checkpoint`, {
      method: "POST",
      body: encodeAddCheckpoint(request),
      headers: { "content-type": "text/plain; charset=utf-8" },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return await readAnswer(response, witness, request.checkpoint);
  } catch (error) {
    return { kind: "failed", problem: error instanceof Error ? error.message : String(error) };
  }
}
