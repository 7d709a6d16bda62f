/** Shared by the commands: the machine, the service, input and output. */

import { hashInputs } from "#lib/client/api/inputs";
import type { Service } from "#lib/client/api/transport";
import { type CountersignOptions, openService } from "#lib/client/create";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { type CommandLine, single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import type { CommandIo } from "#lib/verifier/cli/io";
import type { Machine } from "./machine";

/** Delivery as HTTP carries it. */
export interface Received {
  headers: Record<string, string | undefined>;
  body: string;
}

export interface WebhookReceiver {
  /** On this machine. */
  url: string;
  /** Somebody wants the program to end. */
  stopped: Promise<void>;
  close(): Promise<void>;
}

/** `take` says whether the message is genuine. */
export type OpenReceiver = (take: (received: Received) => boolean) => Promise<WebhookReceiver>;

export interface ClientIo extends CommandIo {
  /** COUNTERSIGN_URL */
  serviceUrl: string | undefined;
  runtime: CountersignOptions["runtime"];
  openReceiver: OpenReceiver;
  machine: Machine;
}

export interface Command {
  io: ClientIo;
  words: string[];
  line: CommandLine<ValuedOption, FlagOption>;
}

export const valuedOptions = [
  "url",
  "inputs",
  "inputs-hash",
  "metadata",
  "authorization",
  "agent-key",
  "public-key",
  "code-hash",
  "model-id",
  "tool",
  "context",
  "expires-in",
  "level",
  "approvals",
  "approver",
  "required-approvers",
  "amount",
  "usable-for",
  "requester",
  "idempotency-key",
  "output",
  "name",
  "description",
  "agent",
  "match",
  "dialect",
  "timeout",
  "key-file",
  "to",
  "settings",
  "run-as",
  "run",
  "reason",
  "event",
  "count",
] as const;
export const flagOptions = [
  "json",
  "wait",
  "public",
  "private",
  "zk",
  "require-code",
  "defer",
  "system",
  "yes",
  "check",
  "ndjson",
  "all-or-nothing",
] as const;
export type ValuedOption = (typeof valuedOptions)[number];
export type FlagOption = (typeof flagOptions)[number];

export function connect({ io, line }: Command): Service {
  const given = single(line, "url");
  const baseUrl = given ?? io.serviceUrl;
  if (baseUrl === undefined) throw new UsageError("which service? Set COUNTERSIGN_URL or give --url");
  try {
    return openService({ baseUrl, apiKey: io.apiKey, fetch: io.fetch, runtime: io.runtime });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const address = given === undefined ? "COUNTERSIGN_URL" : "--url";
    throw new UsageError(message.replace(/^baseUrl\b/, address).replace(/^apiKey\b/, "the API key"));
  }
}

export function requireKey({ io }: Command): void {
  if (io.apiKey === undefined) throw new UsageError("set COUNTERSIGN_API_KEY to an API key");
}

/** As many words as there are places, or a usage error that names the places. */
export function requireWords({ words }: Command, ...places: string[]): string[] {
  if (words.length !== places.length)
    throw new UsageError(`expected ${places.map((place) => `<${place}>`).join(" ") || "no more words"}`);
  return words;
}

export async function readText(io: ClientIo, file: string): Promise<string> {
  try {
    return utf8Decode(await (file === "-" ? io.readStdin() : io.readFile(file)));
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : "unreadable"}`);
  }
}

async function readJson(io: ClientIo, file: string): Promise<JsonValue> {
  const text = await readText(io, file);
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw new UsageError(`${file}: not strict JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

export async function readJsonObject(io: ClientIo, file: string): Promise<JsonObject> {
  const value = await readJson(io, file);
  if (!isJsonObject(value)) throw new UsageError(`${file}: expected a JSON object`);
  return value;
}

/** Hashes `--inputs FILE`, or takes `--inputs-hash`. */
export async function readInputsHash({ io, line }: Command): Promise<string | undefined> {
  const [file, hash] = [single(line, "inputs"), single(line, "inputs-hash")];
  if (file !== undefined && hash !== undefined) throw new UsageError("give --inputs or --inputs-hash");
  return file === undefined ? hash : hashInputs(await readJson(io, file));
}

export async function readAgentKey({ io, line }: Command): Promise<string | undefined> {
  const file = single(line, "agent-key");
  return file === undefined ? undefined : readText(io, file);
}

/** With --json the answer as it came; else its facts, each on a line. What came from elsewhere is made visible. */
export function printResult({ io, line }: Command, answer: object, title: string, facts: Facts): void {
  if (line.flags.has("json")) io.print(`${JSON.stringify(answer, null, 2)}\n`);
  else io.print(formatFacts(title, facts));
}

export type Facts = readonly (readonly [name: string, value: unknown])[];

export function formatFacts(title: string, facts: Facts): string {
  const known = facts.filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...known.map(([name]) => name.length));
  const lines = known.map(([name, value]) => `  ${name.padEnd(width)}  ${toVisibleText(String(value))}`);
  return `${[toVisibleText(title), ...lines].join("\n")}\n`;
}
