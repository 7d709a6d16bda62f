/**
 * POST /v1/attest/batch: up to a hundred attestations in one request, each with the status and body that it would have
 * had alone. They go into the log in the order of the request (docs/wire.md has the exceptions).
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import { beginIdempotentEach, type IdempotencyStart, releaseIdempotent } from "#lib/api/http/idempotency";
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

function toInput({ caller, body }: AttestBatchInput, i: number, start: IdempotencyStart | null): AttestInput {
  const raw = body.attestations[i] as JsonObject;
  const entry = validate(attestBody, raw, "validation_error");
  // The proof is made before the batch, and the batch is what all-or-nothing needs.
  if (body.all_or_nothing === true && entry.enable_zk === true)
    throw fieldError("validation_error", "enable_zk", "can't be combined with all_or_nothing");
  return { caller, body: entry, raw, hold: start?.kind === "held" ? start.hold : null };
}

function describeRefusal(context: Context, reason: unknown, requestId: string): Result {
  const { baseUrl } = context.settings;
  const { status, text } = answerProblem(reason, baseUrl, requestId, context.logger);
  return { status, body: JSON.parse(text ?? "null") as Problem };
}

/** The entries that have no answer yet, recorded as the request wants it; those that aren't valid are refused like others. */
async function attestOpen(
  context: Context,
  input: AttestBatchInput,
  starts: readonly (IdempotencyStart | null)[],
): Promise<Map<number, Attested>> {
  const open = [...starts.keys()].filter((i) => starts[i]?.kind !== "replay");
  const wanted = await Promise.allSettled(open.map(async (i) => toInput(input, i, starts[i] ?? null)));
  const record = input.body.all_or_nothing === true ? attestAll : attestEach;
  const attested = open.length === 0 ? [] : await record(context, wanted);
  return new Map(attested.map((one, n) => [open[n] ?? -1, one]));
}

async function recordHeld(
  context: Context,
  input: AttestBatchInput,
  starts: readonly (IdempotencyStart | null)[],
): Promise<Map<number, Attested>> {
  const holds = new Map(
    starts.flatMap((start, i) => (start?.kind === "held" ? [[i, start.hold] as const] : [])),
  );
  const stopRenewing = [...holds.values()].map((hold) => context.idempotencyLeases.keep(hold));
  const attested = new Map<number, Attested>();
  try {
    for (const [i, one] of await attestOpen(context, input, starts)) attested.set(i, one);
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
  const made = await recordHeld(context, input, starts);
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
