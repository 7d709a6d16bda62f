/** Side effects of the command line as functions, so that tests run it without a process. */
import { canonicalJson, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { readAtMost, readTextAtMost } from "#lib/protocol/encoding/read-stream";
import type { ByteSource, ZipTools } from "#lib/protocol/encoding/zip";
import type { PresentationHeader } from "#lib/protocol/presentation/presentation";
import { describeWarning, type Warning } from "#lib/protocol/statement/warnings";
import { explainError, formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { revertedCall, type WorldChainCall, WorldChainError } from "#lib/protocol/world-id/world-chain-calls";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";
import type { OpenReaders } from "#lib/verifier/pack/read-entry";
import {
  listUncompared,
  type VerifierCheck,
  type VerifierReport,
  wordsFor,
  wordsForTime,
} from "#lib/verifier/report/report";

export interface CommandIo {
  fetch: typeof fetch;
  readFile(path: string): Promise<Uint8Array>;
  /** A file that is read in parts. */
  openFile(path: string): Promise<ByteSource & { close(): void }>;
  isFile(path: string): Promise<boolean>;
  writeFile(path: string, text: string): Promise<void>;
  readStdin(): Promise<Uint8Array>;
  print(text: string): void;
  /** Writes to standard error: what a reader of the result must not get. */
  tell(text: string): void;
  zip: ZipTools;
  /** The bytes of verify.mjs, if that is what runs; else null. */
  readProgram(): Promise<Uint8Array | null>;
  /** Set where there are threads. */
  openReaders?: OpenReaders;
  /** Writes to the terminal only; undefined if there is none. */
  progress: ((text: string) => void) | undefined;
  /** COUNTERSIGN_API_KEY */
  apiKey: string | undefined;
  nowSeconds(): number;
  /** The module of Cedar in this folder, which the user got from its makers: it runs as part of this program. */
  loadCedar?(folder: string): Promise<unknown>;
  /** End of the run, whatever is answered, by {@link nowSeconds}. */
  endsAt?: number;
}

/** The service kept the run from ending. */
export class DeadlineError extends Error {}

export const withDeadline = (io: CommandIo, seconds: number): CommandIo => ({
  ...io,
  endsAt: io.nowSeconds() + seconds,
});

function requireTime(io: CommandIo): number {
  const leftMs = io.endsAt === undefined ? timeoutMs : (io.endsAt - io.nowSeconds()) * 1_000;
  if (leftMs > 0) return leftMs;
  throw new DeadlineError(
    "the run was ended at its deadline: the service is slow, or kept it from ending (--deadline SECONDS gives it longer)",
  );
}

/** Says nothing of what was asked for: the service did not answer, or has no time. */
export class UnreachableError extends UnreadableError {}

const timeoutMs = 30_000;
/** The server is not trusted to end its answer; the log's largest files have some megabytes. */
const maxAnswerBytes = 64 * 1024 * 1024;
const maxNodeAnswerBytes = 1024 * 1024;
const maxReasonBytes = 64 * 1024;
const maxTries = 6;

/** A GET that waits if the service asks for it. Throws {@link UnreadableError} for every other failure. */
export async function fetchBytes(
  io: CommandIo,
  url: string,
  headers: Record<string, string> = {},
): Promise<Uint8Array> {
  const response = await fetchPatiently(io, url, headers);
  if (!response.ok) throw new UnreadableError(`${url}: HTTP ${response.status}${await readReason(response)}`);
  return readBody(io, url, response);
}

export async function fetchBytesIfThere(io: CommandIo, url: string): Promise<Uint8Array | undefined> {
  const response = await fetchPatiently(io, url, {});
  if (response.status === 404) return undefined;
  if (!response.ok) throw new UnreadableError(`${url}: HTTP ${response.status}`);
  return readBody(io, url, response);
}

async function readBody(io: CommandIo, url: string, response: Response): Promise<Uint8Array> {
  const bytes = await readAtMost(response.body, maxAnswerBytes).catch(() => {
    requireTime(io);
    throw new UnreadableError(`${url}: the answer broke off`);
  });
  if (bytes === null) throw new UnreadableError(`${url}: the answer has more than ${maxAnswerBytes} bytes`);
  return bytes;
}

async function fetchPatiently(
  io: CommandIo,
  url: string,
  headers: Record<string, string>,
): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    let response: Response;
    const leftMs = requireTime(io);
    try {
      response = await io.fetch(url, {
        headers,
        signal: AbortSignal.timeout(Math.min(timeoutMs, leftMs)),
      });
    } catch (error) {
      requireTime(io);
      throw new UnreachableError(`${url}: could not be fetched (${explainError(error)})`);
    }
    const isBusy = response.status === 429 || response.status === 503;
    if (isBusy && tries === maxTries)
      throw new UnreachableError(`${url}: HTTP ${response.status} after ${tries} tries`);
    if (!isBusy) return response;
    const seconds = Number(response.headers.get("retry-after") ?? "1");
    const pauseMs = Math.min(60, Math.max(1, seconds || 1)) * 1_000;
    await new Promise((done) => setTimeout(done, Math.min(pauseMs, requireTime(io))));
  }
}

async function readReason(response: Response): Promise<string> {
  try {
    const text = await readTextAtMost(response, maxReasonBytes);
    const problem = JSON.parse(text ?? "{}") as { detail?: unknown };
    return typeof problem.detail === "string" ? ` (${problem.detail.slice(0, 200)})` : "";
  } catch {
    return "";
  }
}

/** JSON-RPC to the node that the option names. */
export function callNode(io: Pick<CommandIo, "fetch">, url: string): WorldChainCall {
  return async (method, params) => {
    let body: unknown;
    try {
      const response = await io.fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      body = JSON.parse((await readTextAtMost(response, maxNodeAnswerBytes)) ?? "");
    } catch {
      throw new WorldChainError("is out of reach or answered with no JSON");
    }
    const { error, result } = isJsonObject(body) ? body : {};
    if (error === undefined && result !== undefined) return result;
    const { code, message } = isJsonObject(error) ? error : {};
    if (code === 3 || /revert/i.test(String(message))) return revertedCall;
    throw new WorldChainError(
      `refused ${method}: ${String(message).slice(0, 200)} (old blocks need an archive node)`,
    );
  };
}

/* The report in words. Every string of the receipt is made visible: it may hold terminal escapes. */

const words: Record<VerifierCheck["status"], string> = {
  pass: "pass",
  fail: "FAIL",
  not_applicable: "n/a ",
  not_run: "----",
};

type ShownCheck = Pick<VerifierCheck, "name" | "status" | "detail">;

/** A check that passes over bad news does not say "pass". */
export function formatChecks(checks: readonly ShownCheck[], warnings: readonly Warning[] = []): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const chooseWord = ({ name, status }: ShownCheck) =>
    status !== "fail" && findRowWarning(name, warnings) ? "WARN" : words[status];
  return checks
    .map((check) => `  ${chooseWord(check)}  ${check.name.padEnd(width)}  ${toVisibleText(check.detail)}`)
    .join("\n");
}

/** Above everything else: whoever stops reading after a line has read it. */
const testHeading = "TEST. This was decided on a TEST instance and shows nothing about a real person.";

export function formatReport(report: VerifierReport, keysNote: string): string {
  const { statement, presentationHeader, authorization, unproven, missing } = report;
  const { title, sentence } = wordsFor(report);
  const uncompared = listUncompared(report);
  const parts = [
    report.isTest ? testHeading : "",
    formatRecord(report),
    statement === null ? "" : toVisibleText(wordsForTime(report)),
    presentationHeader === null ? "" : formatHeader(presentationHeader),
    formatDisclosed(report),
    formatChecks(report.checks, report.warnings),
    authorization === null ? "" : `Human approval: ${authorization.grade_text}.`,
    formatWarnings(report),
    unproven.length === 0
      ? ""
      : `Shown in the file, but proven by nothing in it: ${unproven.map(toVisibleText).join(", ")}.`,
    missing.length === 0 ? "" : `Could not be checked from this file: ${missing.join(", ")}.`,
    uncompared.length === 0 ? "" : `Not compared: ${uncompared.join(", ")}. ${hintFor(report)}`,
    report.disagrees ? `The file says valid: ${report.claimed}. This verifier says otherwise.` : "",
    toVisibleLines(keysNote),
    `${title}. ${sentence}`,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const hintFor = ({ kind }: VerifierReport) =>
  kind === "tlog_proof"
    ? "The proof of another leaf would pass too. Use --payload."
    : "A copy of what was made for someone else would pass too. Use --audience and --nonce.";

function formatWarnings({ warnings, statedWarnings }: VerifierReport): string {
  const stated = statedWarnings.map((code) => ({
    code,
    message: `${describeWarning(code).message} (The service says so. Nothing in this file shows it.)`,
  }));
  return [...warnings, ...stated]
    .map(({ code, message }) => `Warning: ${toVisibleText(message)} [${code}]`)
    .join("\n");
}

function toVisibleLines(text: string): string {
  return text.split("\n").map(toVisibleText).join("\n");
}

function formatFacts(facts: readonly (readonly [string, unknown])[], width: number): string {
  return facts.map(([name, value]) => `${name.padEnd(width)} ${toVisibleText(String(value))}`).join("\n");
}

function formatHeader(header: PresentationHeader): string {
  if (header.kind === "public") return "made for     everybody (the public proof of an attestation)";
  const { audience, nonce, issuedAtSeconds, expiresAtSeconds } = header;
  return formatFacts(
    [
      ["made for", audience],
      ["nonce", nonce],
      ["made at", `${issuedAtSeconds} (seconds after 1970)`],
      ["valid until", `${expiresAtSeconds} (seconds after 1970)`],
    ],
    12,
  );
}

function formatDisclosed({ kind, verdict, disclosed }: VerifierReport): string {
  if (kind !== "presentation" || verdict !== "valid") return "";
  if (disclosed.length === 0) return "It shows only that such an attestation exists.";
  return formatFacts(
    disclosed.map(({ name, value }) => [name, canonicalJson(value)]),
    26,
  );
}

function formatRecord({ facts, statement }: VerifierReport): string {
  const names: [string, unknown][] =
    statement === null
      ? []
      : [
          ["attestation", statement.predicate.attestation_id],
          ["inputs hash", statement.predicate.request["inputs_hash"]],
        ];
  const rows = facts.map(({ label, text }): [string, unknown] => [label.toLowerCase(), text]);
  return formatFacts([...rows, ...names], 12);
}

const barWidth = 40;

export function showProgress({ progress }: CommandIo) {
  return (checked: number, total: number): void => {
    const done = Math.floor((checked / total) * barWidth);
    const bar = `${"#".repeat(done)}${".".repeat(barWidth - done)}`;
    progress?.(
      `\r[${bar}] ${checked.toLocaleString("en")} of ${formatCount(total, "entry", "entries")}${checked === total ? "\n" : ""}`,
    );
  };
}

export function printJson(io: CommandIo, value: unknown): void {
  io.print(`${JSON.stringify(value, null, 2)}\n`);
}
