/**
 * POST /v1/attest/batch: up to a hundred attestations in one request, each with the status and body that it would have
 * had alone. They go into the log in the order of the request (docs/wire.md has the exceptions).
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import {
  beginIdempotentEach,
  type IdempotencyEntryStart,
  type IdempotencyHold,
  type IdempotencyStart,
  releaseIdempotent,
} from "#lib/api/http/idempotency";
import { validate } from "#lib/api/http/pipeline";
import { answerProblem } from "#lib/api/http/problem";
import {
  type AttestBatchBody,
  type AttestBatchResponse,
  type AttestResponse,
  attestBody,
  maxBatchEntries,
} from "#lib/api/schemas/attest";
import type { Problem } from "#lib/api/schemas/primitives";
import { fieldError } from "#lib/errors";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Context } from "#lib/services/approvals/context";
import { type Attested, type AttestInput, attestAll, attestEach } from "./attest";

interface AttestBatchInput {
  caller: KeyPrincipal;
  body: AttestBatchBody;
  raw: JsonObject;
  requestId: string;
  idempotencyKey: string | null;
}

type Result = AttestBatchResponse["results"][number];

export const batchRoute = "/v1/attest/batch";

/**
 * A key for each entry, stored with its attestation: a request that was cut off in the middle goes on with the entries
 * that are missing. Each remembers the hash of the whole body.
 */
function begin(context: Context, input: AttestBatchInput): Promise<(IdempotencyStart | null)[]> {
  const { idempotencyKey, caller, body, raw } = input;
  if (idempotencyKey === null) return Promise.resolve(body.attestations.map(() => null));
  const all = Array.from({ length: maxBatchEntries }, (_, i) => `${idempotencyKey} ${i}`);
  const keys = all.slice(0, body.attestations.length);
  const place = { organizationId: caller.organizationId, route: batchRoute };
  return beginIdempotentEach(context, { ...place, keys, besides: all.slice(keys.length) }, raw);
}

function toInput({ caller, body }: AttestBatchInput, i: number, hold: IdempotencyHold | null): AttestInput {
  const raw = body.attestations[i] as JsonObject;
  const entry = validate(attestBody, raw, "validation_error");
  // The proof is made before the batch, and the batch is what all-or-nothing needs.
  if (body.all_or_nothing === true && entry.enable_zk === true)
    throw fieldError("validation_error", "enable_zk", "can't be combined with all_or_nothing");
  return { caller, body: entry, raw, hold };
}

function describeRefusal(context: Context, reason: unknown, requestId: string): Result {
  const { baseUrl } = context.settings;
  const { status, text } = answerProblem(reason, baseUrl, requestId, context.logger);
  return { status, body: JSON.parse(text ?? "null") as Problem };
}

/**
 * The entries that have no answer yet, recorded as `record` does it; those that aren't valid are refused like others. What
 * was held for a refused one is given back.
 */
export async function recordHeld(
  context: Context,
  starts: readonly (IdempotencyEntryStart | null)[],
  toInput: (at: number, hold: IdempotencyHold | null) => AttestInput,
  record = attestEach,
): Promise<Map<number, Attested>> {
  const holds = new Map(
    starts.flatMap((start, i) => (start?.kind === "held" ? [[i, start.hold] as const] : [])),
  );
  const stopRenewing = [...holds.values()].map((hold) => context.idempotencyLeases.keep(hold));
  const attested = new Map<number, Attested>();
  try {
    const open = [...starts.keys()].filter((i) => starts[i] === null || holds.has(i));
    const wanted = await Promise.allSettled(open.map(async (i) => toInput(i, holds.get(i) ?? null)));
    const made = open.length === 0 ? [] : await record(context, wanted);
    for (const [n, one] of made.entries()) attested.set(open[n] ?? -1, one);
    return attested;
  } finally {
    for (const stop of stopRenewing) stop();
    const refused = [...holds].filter(([i]) => attested.get(i)?.status !== "fulfilled");
    await releaseIdempotent(
      context,
      refused.map(([, hold]) => hold),
    );
  }
}

/** `attested`: the agents of what was recorded now, and not before with the same key. */
export async function attestBatch(
  context: Context,
  input: AttestBatchInput,
): Promise<AttestBatchResponse & { attested: string[] }> {
  const starts = await begin(context, input);
  const record = input.body.all_or_nothing === true ? attestAll : attestEach;
  const made = await recordHeld(context, starts, (i, hold) => toInput(input, i, hold), record);
  const results = starts.map((start, i): Result => {
    if (start?.kind === "replay") return { status: 201, body: JSON.parse(start.response) as AttestResponse };
    const one = made.get(i);
    return one?.status === "fulfilled"
      ? { status: 201, body: one.value }
      : describeRefusal(context, one?.reason, input.requestId);
  });
  const recorded = results.filter(({ status }) => status === 201).length;
  const attested = [...made.values()].flatMap((one) =>
    one.status === "fulfilled" ? [one.value.agent_slug] : [],
  );
  return { results, recorded, attested };
}
