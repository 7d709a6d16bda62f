/** `countersign attest --ndjson`: a request on each line. */

import { type BatchResult, refusalOf, sendBatches } from "#lib/client/api/attest-many";
import { CountersignError } from "#lib/client/api/errors";
import type { AttestRequest } from "#lib/client/api/wire";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { type Command, connect, readAgentKey, readText, requireKey } from "./io";

/** Some lines were answered and not all recorded: a program must not take it for a call to make again as it was. */
export class LinesRefusedError extends CountersignError {}

function parseLine(line: string, number: number): AttestRequest {
  try {
    const value = parseStrictJson(line);
    if (isJsonObject(value)) return value as unknown as AttestRequest;
  } catch {
    // The same words for what is no JSON and what is no object.
  }
  throw new UsageError(`line ${number}: expected a JSON object`);
}

function readLines(text: string): AttestRequest[] {
  const lines = text.split("\n").map((line, i) => ({ line: line.trim(), number: i + 1 }));
  const requests = lines.filter(({ line }) => line !== "").map(({ line, number }) => parseLine(line, number));
  if (requests.length === 0) throw new UsageError("attest --ndjson: there is no line");
  return requests;
}

const alone = [
  "inputs",
  "inputs-hash",
  "metadata",
  "authorization",
  "code-hash",
  "model-id",
  "tool",
] as const;

function refuseOthers({ line, words }: Command): void {
  const other = [
    ...alone.filter((option) => line.values[option] !== undefined),
    ...(["public", "private", "zk"] as const).filter((flag) => line.flags.has(flag)),
  ][0];
  if (other !== undefined) throw new UsageError(`--${other}: with --ndjson each line says it`);
  if (words.length > 1) throw new UsageError("attest --ndjson takes one file");
}

export async function runAttestMany(command: Command): Promise<void> {
  const { io, line, words } = command;
  refuseOthers(command);
  requireKey(command);
  const requests = readLines(await readText(io, words[0] ?? "-"));
  const service = connect(command);
  const idempotencyKey = single(line, "idempotency-key") ?? service.randomUuid();
  const options = {
    agentKey: await readAgentKey(command),
    idempotencyKey,
    allOrNothing: line.flags.has("all-or-nothing"),
  };
  const answered: BatchResult[] = [];
  try {
    for await (const results of sendBatches(service, requests, options)) {
      answered.push(...results);
      for (const result of results) io.print(`${JSON.stringify(result)}\n`);
    }
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    io.tell(
      `Not every line was answered. To record none twice, add --idempotency-key "${idempotencyKey}".\n`,
    );
    throw answered.length > 0 ? new LinesRefusedError(error.message, { cause: error }) : error;
  }
  const refused = answered.filter(({ status }) => status !== 201).map(refusalOf);
  const first = refused.find(({ code }) => code !== "batch_refused");
  if (first !== undefined) throw new LinesRefusedError(first.message, { cause: first });
}
