/** `countersign attest` and `countersign authorize`. */
import { attest, type BatchResult, sendBatches, toApiError } from "#lib/client/api/attest";
import { authorize, type OpenQuestion, waitForDecision } from "#lib/client/api/authorize";
import {
  ApprovalRevokedError,
  ApprovalUsedError,
  CountersignError,
  NotApprovedError,
} from "#lib/client/api/errors";
import type { AttestRequest, AuthorizationRequest, AuthorizeRequest, Verdict } from "#lib/client/api/wire";
import { describeUnasked } from "#lib/protocol/approval/decided-words";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import {
  type Command,
  connect,
  type Facts,
  formatFacts,
  printResult,
  readAgentKey,
  readInputsHash,
  readJsonObject,
  readText,
  requireKey,
  requireWords,
  type ValuedOption,
} from "./io";

/* `countersign attest --ndjson`: a request on each line. */

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

async function runAttestMany(command: Command): Promise<void> {
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
  const refused = answered.filter(({ status }) => status !== 201).map(toApiError);
  const first = refused.find(({ code }) => code !== "batch_refused");
  if (first !== undefined) throw new LinesRefusedError(first.message, { cause: first });
}

export async function runAttest(command: Command): Promise<void> {
  if (command.line.flags.has("ndjson")) return runAttestMany(command);
  const [agent_slug = "", action = ""] = requireWords(command, "agent", "action");
  requireKey(command);
  const { line } = command;
  const inputs_hash = await readInputsHash(command);
  if (inputs_hash === undefined) throw new UsageError("attest needs --inputs or --inputs-hash");
  const request: AttestRequest = {
    agent_slug,
    action,
    inputs_hash,
    metadata: await readObjectOption(command, "metadata"),
    is_public: readVisibility(command),
    enable_zk: line.flags.has("zk") ? true : undefined,
    code_hash: single(line, "code-hash"),
    model_id: single(line, "model-id"),
    tools_used: line.values.tool,
    human_authorization: await readAuthorization(command),
  };
  const made = await attest(connect(command), request, {
    agentKey: await readAgentKey(command),
    idempotencyKey: single(line, "idempotency-key"),
  });
  printResult(command, made, "Attested.", [
    ["attestation", made.attestation_id],
    ["agent", made.agent_slug],
    ["action", made.action],
    ["inputs hash", made.inputs_hash],
    ["link", made.public_url],
    ["agent's signature", describe(made.agent_authenticated)],
    ["code hash", describe(made.code_hash_verified)],
    ["tools", describe(made.tools_authorized)],
    ["approval", made.human_approval?.method === "proof_of_personhood" ? "proof of personhood" : null],
    ["verify", made.verify_command],
  ]);
}

const describe = (verdict: Verdict) =>
  verdict === null ? null : verdict ? "as registered" : "NOT as registered";

export function readVisibility({ line: { flags } }: Command): boolean | undefined {
  if (flags.has("public") && flags.has("private")) throw new UsageError("give --public or --private");
  return flags.has("public") ? true : flags.has("private") ? false : undefined;
}

async function readObjectOption(
  { io, line }: Command,
  option: "metadata" | "authorization",
): Promise<JsonObject | undefined> {
  const file = single(line, option);
  return file === undefined ? undefined : readJsonObject(io, file);
}

async function readAuthorization(command: Command): Promise<JsonObject | undefined> {
  const object = await readObjectOption(command, "authorization");
  const inner = object?.["human_authorization"];
  return isJsonObject(inner) ? inner : object;
}

export async function runAuthorize(command: Command): Promise<void> {
  const [agent_slug = "", action = ""] = requireWords(command, "agent", "action");
  requireKey(command);
  const { io, line } = command;
  const output = single(line, "output");
  const isWaiting = line.flags.has("wait");
  if (output !== undefined && !isWaiting) throw new UsageError("--output needs --wait");
  const request: AuthorizeRequest = {
    agent_slug,
    action,
    context: readContext(line.values.context),
    inputs_hash: await readInputsHash(command),
    expires_in_minutes: readCount(command, "expires-in"),
    required_level: readLevel(single(line, "level")),
    approvals_required: readCount(command, "approvals"),
    approvers: line.values.approver,
    required_approvers: readRequiredApprovers(line.values["required-approvers"]),
    usable_for_seconds: readUsableFor(command),
    tool: single(line, "tool"),
    amount: readAmount(single(line, "amount")),
    amendable: line.values.amendable,
    requester: single(line, "requester"),
    require_code: line.flags.has("require-code"),
  };
  const service = connect(command);
  if (output !== undefined)
    await io.machine.requireWritable(output).catch((error: Error) => {
      throw new UsageError(`--output ${output}: ${error.message}`);
    });
  const made = await authorize(service, request, { idempotencyKey: single(line, "idempotency-key") });
  const unasked = describeUnasked(made.decided_by, made.status);
  if (!isWaiting) return printResult(command, made, unasked ?? "Approval requested.", toFacts(made));
  const shown = formatFacts("Waiting for a human.", toFacts(made));
  if (line.flags.has("json")) {
    io.tell(shown);
    io.print(`${JSON.stringify(made)}\n`);
  } else io.print(shown);
  const onQuestion = ({ number, question }: OpenQuestion) => {
    const how = `countersign answer ${made.request_id} TEXT --number ${number}`;
    io.tell(`An approver asks: ${toVisibleText(question)}\nAnswer with: ${how}\n`);
    return undefined;
  };
  const decision = await waitForDecision(service, made.request_id, { onQuestion }).catch((error) => {
    if (line.flags.has("json")) io.print(`${JSON.stringify(describeEnd(made, error))}\n`);
    throw error;
  });
  if (output !== undefined)
    await io.writeFile(output, `${JSON.stringify(decision.human_authorization, null, 2)}\n`);
  if (line.flags.has("json")) return io.print(`${JSON.stringify(decision)}\n`);
  printResult(command, decision, "Approved.", [
    ["request", decision.request_id],
    ["decided", decision.decided_at],
    ["how", describeUnasked(decision.decided_by, decision.status)],
    ["kind", decision.environment === "production" ? null : `TEST (${decision.environment})`],
    ["saved to", output],
  ]);
}

/** Output for a program that may not go on: the decision, that its approval is gone, or that none arrived. */
function describeEnd({ request_id }: AuthorizationRequest, error: unknown): object {
  if (error instanceof NotApprovedError) return error.decision;
  const message = error instanceof Error ? error.message : String(error);
  const isGone = error instanceof ApprovalRevokedError || error instanceof ApprovalUsedError;
  return { request_id, status: isGone ? "approved" : "pending", error: { message } };
}

const isUnheard = ({ status, notified }: AuthorizationRequest) => status === "pending" && notified === 0;

export function toFacts(made: AuthorizationRequest): Facts {
  const denied = made.previously_denied;
  return [
    ["request", made.request_id],
    ["agent", made.agent_slug],
    ["action", made.action],
    ["link", made.approval_url],
    ["code", made.confirmation_code],
    ["expires", made.expires_at],
    [
      "note",
      isUnheard(made) ? "nobody gets the link by email: send it to the person who should decide" : undefined,
    ],
    ["note", denied && `an equal request was denied at ${denied.denied_at}`],
  ];
}

export function readContext(entries: string[] | undefined): Record<string, string> | undefined {
  if (entries === undefined) return undefined;
  const pairs = entries.map((entry) => {
    const at = entry.indexOf("=");
    if (at < 1) throw new UsageError(`--context: expected NAME=VALUE, not ${entry}`);
    return [entry.slice(0, at), entry.slice(at + 1)] as const;
  });
  if (new Set(pairs.map(([name]) => name)).size < pairs.length)
    throw new UsageError("--context: a name is given twice");
  return Object.fromEntries(pairs);
}

/** Up to 30 days. */
export const readUsableFor = (command: Command) => readCount(command, "usable-for", 7);

export function readCount({ line }: Command, option: ValuedOption, digits = 6): number | undefined {
  const text = single(line, option);
  if (text === undefined) return undefined;
  if (!/^[0-9]+$/.test(text) || text.length > digits) throw new UsageError(`--${option}: expected a number`);
  return Number(text);
}

export function readLevel(text: string | undefined) {
  if (text === undefined || text === "none" || text === "device" || text === "orb") return text;
  throw new UsageError("--level: expected none, device or orb");
}

export function readRequiredApprovers(entries: string[] | undefined) {
  return entries?.map((entry) => {
    const [, group, count] = /^(.+)=([0-9]{1,2})$/.exec(entry) ?? [];
    if (group === undefined) throw new UsageError(`--required-approvers: expected GROUP=COUNT, not ${entry}`);
    return { group, count: Number(count) };
  });
}

function readAmount(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, value, currency] = /^([0-9.]+) ([A-Z]{3})$/.exec(text) ?? [];
  if (value === undefined || currency === undefined)
    throw new UsageError(`--amount: expected a number and a currency, such as "100.50 EUR", not ${text}`);
  // The service has one spelling for each amount.
  return { value: value.replace(/(\.[0-9]*?)0+$/, "$1").replace(/\.$/, ""), currency };
}
