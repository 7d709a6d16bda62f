/**
 * POST /v1/otlp/v1/traces and /logs (OTLP/HTTP 1.x): what ran by a trace becomes attestations, which say so. A span is
 * recorded once, however often it is sent. A client tries 429, 502, 503 and 504 again and drops all else, so only what may
 * be recorded later is answered so; the rest of the batch is recorded meanwhile.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { KeyPrincipal } from "#lib/api/http/context";
import {
  beginIdempotentEntries,
  type IdempotencyHold,
  listHolds,
  releaseIdempotent,
} from "#lib/api/http/idempotency";
import { type Reply, readBytes, validate } from "#lib/api/http/pipeline";
import type { HttpRequest } from "#lib/api/http/problem";
import { type OtlpEncoding, otlpEncodings, readOtlpEncoding, toAppError } from "#lib/api/http/problem";
import { attestBody, maxBatchEntries } from "#lib/api/schemas/attest";
import { AppError, describeError } from "#lib/errors";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { encodeProtobuf } from "#lib/protocol/encoding/protobuf";
import { formatCount } from "#lib/protocol/text/display-text";
import type { Context } from "#lib/services/approvals/context";
import { type AttestInput, recordHeld } from "./attest";
import { decodeTraces, type Report, type Reported, readReports, type Signal } from "./traces";

interface OtlpCall {
  context: Context;
  request: HttpRequest;
  principal: KeyPrincipal;
  countMore: (points: number) => Promise<Record<string, string>>;
}

const maxSentBytes = 1024 * 1024;
const maxUnpackedBytes = 8 * 1024 * 1024;
/** A body counts as one request more for each. */
const bytesPerPoint = 256 * 1024;
/** JSON of small values takes many times its bytes in memory. */
const maxJsonTokens = 500_000;
/** Days for which a repeated span is recognized. */
const rememberedDays = 30;

const unpack = promisify(gunzip);

async function readBody({ request, countMore }: OtlpCall): Promise<Uint8Array> {
  const sent = await readBytes(request, maxSentBytes);
  const coding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (coding !== "gzip" && coding !== "identity")
    throw new AppError("bad_request", "Content-Encoding: must be gzip or absent");
  const bytes = coding === "identity" ? sent : await unpackGzip(sent);
  await countMore(Math.floor(bytes.length / bytesPerPoint));
  return bytes;
}

async function unpackGzip(sent: Uint8Array): Promise<Uint8Array> {
  try {
    return await unpack(sent, { maxOutputLength: maxUnpackedBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw new AppError(
        "payload_too_large",
        `the body can be at most ${maxUnpackedBytes} bytes when unpacked`,
      );
    throw new AppError("bad_request", "the body is not gzip", { cause: error });
  }
}

const [quote, backslash] = [0x22, 0x5c];
const structural = new Set([..."{[,"].map((character) => character.charCodeAt(0)));

function isTooDense(bytes: Uint8Array): boolean {
  let [tokens, isText] = [0, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) isText = !isText;
    else if (isText && byte === backslash) at += 1;
    else if (!isText && structural.has(byte)) tokens += 1;
  }
  return tokens > maxJsonTokens;
}

/** OTLP's JSON has names that readers must ignore and numbers of any spelling: the strict parser is not for it. */
function parseJson(bytes: Uint8Array): JsonObject {
  if (isTooDense(bytes)) throw new RangeError(`more than ${maxJsonTokens} values`);
  const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (!isJsonObject(value)) throw new RangeError("not an object");
  return value;
}

function read(signal: Signal, encoding: OtlpEncoding, bytes: Uint8Array): Iterable<Report> {
  try {
    return readReports(signal, encoding === "json" ? parseJson(bytes) : decodeTraces(signal, bytes));
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError))
      throw error;
    throw new AppError("bad_request", `the body is no OTLP ${signal}: ${error.message}`);
  }
}

/** Charges as many of them as the limits leave. */
async function charge(countMore: OtlpCall["countMore"], wanted: number) {
  let [paid, step] = [0, wanted];
  let refusal: AppError | null = null;
  while (paid < wanted && step > 0) {
    const points = Math.min(step, wanted - paid);
    try {
      await countMore(points);
      paid += points;
    } catch (error) {
      if (!(error instanceof AppError) || error.errorName !== "rate_limit_exceeded") throw error;
      refusal = error;
      step = Math.floor(points / 2);
    }
  }
  return { paid, refusal: paid < wanted ? refusal : null };
}

interface Result {
  agents: string[];
  why: string[];
}

/** Concerns the whole batch: the key ended meanwhile, or what is missing passes. */
const endsBatch = (error: AppError) =>
  [401, 403, 429, 500, 503].includes(describeError(error.errorName).status);

/** While the same batch is still being recorded, its repetition has to come again. */
function toRetryable(error: unknown): unknown {
  const isInProgress = error instanceof AppError && error.errorName === "idempotency_conflict";
  return isInProgress
    ? new AppError("service_unavailable", "the same spans are being recorded by another request")
    : error;
}

/** Throws for what may be recorded later, once all that can be is recorded. */
async function recordGroup(
  { context, principal: caller, countMore }: OtlpCall,
  route: string,
  reports: ReadonlyMap<string, Reported>,
  result: Result,
): Promise<void> {
  const { organizationId } = caller;
  const bodies = new Map([...reports].map(([key, { record }]) => [key, record]));
  const place = { organizationId, route, bodies, days: rememberedDays };
  const starts = await beginIdempotentEntries(context, place).catch((error: unknown) => {
    throw toRetryable(error);
  });
  const entries = [...reports.values()].map((report, i) => ({ report, start: starts[i] ?? null }));
  const held = entries.filter(({ start }) => start?.kind === "held");
  const giveBack = (from: number) => releaseIdempotent(context, listHolds(starts).slice(from));
  const { paid, refusal } = await charge(countMore, held.length).catch(async (error: unknown) => {
    await giveBack(0);
    throw error;
  });
  await giveBack(paid);
  const affordable = held.slice(0, paid);
  const toInput = (i: number, hold: IdempotencyHold | null): AttestInput => {
    const { record: raw, trace } = (affordable[i] as (typeof held)[number]).report;
    return { caller, body: validate(attestBody, raw, "validation_error"), raw, hold, trace };
  };
  const paidStarts = affordable.map(({ start }) => start);
  const made = [...(await recordHeld(context, paidStarts, toInput)).values()];
  const failed = made.flatMap((one) => (one.status === "rejected" ? [toAppError(one.reason)] : []));
  const ending = failed.find(endsBatch) ?? refusal;
  if (ending) throw ending;
  result.agents.push(...made.flatMap((one) => (one.status === "fulfilled" ? [one.value.agent_slug] : [])));
  result.why.push(...failed.map(({ detail }) => detail));
  for (const { report, start } of entries)
    if (start?.kind === "refused") result.why.push(`${report.key}: ${explainRefusal(start.error)}`);
}

const explainRefusal = ({ errorName }: AppError) =>
  errorName === "erased" ? "what it said has been erased" : "came before with other content";

/** Records all. In a batch, the first under a key counts; one that repeats it word for word is the same. */
async function recordAll(call: OtlpCall, signal: Signal, reports: Iterable<Report>): Promise<Result> {
  const result: Result = { agents: [], why: [] };
  const seen = new Map<string, string>();
  let group = new Map<string, Reported>();
  const flush = async () => {
    const taken = group;
    group = new Map();
    if (taken.size > 0) await recordGroup(call, `/v1/otlp/v1/${signal}`, taken, result);
  };
  for (const report of reports) {
    if ("why" in report) {
      result.why.push(report.why);
      continue;
    }
    const text = JSON.stringify(report.record);
    const known = seen.get(report.key);
    if (known === undefined) group.set(report.key, report);
    else if (known !== text) result.why.push(`${report.key}: is in the batch with other content too`);
    seen.set(report.key, known ?? text);
    if (group.size >= maxBatchEntries) await flush();
  }
  await flush();
  return result;
}

const maxReasons = 5;

function answer(signal: Signal, encoding: OtlpEncoding, why: readonly string[]): Uint8Array | JsonObject {
  if (why.length === 0) return encoding === "json" ? {} : new Uint8Array();
  const [rejected, one] =
    signal === "traces" ? ["rejectedSpans", "span"] : ["rejectedLogRecords", "log record"];
  const shown = [...new Set(why)].slice(0, maxReasons).join("; ");
  const errorMessage = `${formatCount(why.length, one)} not recorded: ${shown}`;
  if (encoding === "protobuf")
    return encodeProtobuf({ 1: encodeProtobuf({ 1: why.length, 2: errorMessage }) });
  return { partialSuccess: { [rejected]: String(why.length), errorMessage } };
}

export async function recordTraces(call: OtlpCall, signal: Signal): Promise<Reply> {
  const encoding = readOtlpEncoding(call.request);
  if (encoding === null)
    throw new AppError("bad_request", `Content-Type: must be ${Object.values(otlpEncodings).join(" or ")}`);
  const { agents, why } = await recordAll(call, signal, read(signal, encoding, await readBody(call)));
  const headers = { ...(await call.countMore(0)), "content-type": otlpEncodings[encoding] };
  return { body: answer(signal, encoding, why), headers, attested: agents };
}
