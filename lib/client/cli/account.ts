/** `countersign keys` and `countersign agent`. */
import { answer, cancel, claim, freeze, revoke, unfreeze } from "#lib/client/api/authorize";
import { type Call, type Service, send } from "#lib/client/api/transport";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { decodePrivateKeyPem } from "#lib/protocol/keys/agent-seed";
import { derivePublicKeyPem, provePossession } from "#lib/protocol/keys/ed25519";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { verifyWithSecret, webhookEvents } from "#lib/protocol/webhook/webhook";
import {
  type Command,
  connect,
  type Facts,
  formatFacts,
  printResult,
  type Received,
  readAgentKey,
  readText,
  requireKey,
  requireWords,
} from "./io";

async function call(command: Command, what: Call, title: string, names: readonly string[]): Promise<void> {
  const answer = await send<JsonObject>(connect(command), what);
  const facts: Facts = names.map((name) => [name.replaceAll("_", " "), toWords(answer[name])]);
  printResult(command, answer, title, facts);
}

function toWords(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(", ");
  return value;
}

export async function runKeys(command: Command): Promise<void> {
  const [first, ...words] = command.words;
  const rest = { ...command, words };
  if (first === "request") {
    const [email] = requireWords(rest, "email");
    const body = { email, name: single(command.line, "name") };
    return call(command, { method: "POST", path: "/v1/keys/request", body }, "Requested.", ["message"]);
  }
  if (first === "verify") {
    const [email, code] = requireWords(rest, "email", "code");
    const what = { method: "POST", path: "/v1/keys/verify", body: { email, code } } as const;
    return call(command, what, "API key created. It is shown only now.", ["api_key", "key_id", "email"]);
  }
  if (first !== "info" && first !== "delete")
    throw new UsageError("the keys commands are: request, verify, info, delete");
  requireWords(rest);
  requireKey(command);
  if (first === "delete")
    return call(command, { method: "DELETE", path: "/v1/keys" }, "Deleted.", ["message", "key_id"]);
  const names = ["prefix", "name", "email", "key_id", "scopes", "expires_at", "attestations_today"];
  return call(command, { method: "GET", path: "/v1/keys/info" }, "API key", names);
}

const identityNames = [
  "slug",
  "name",
  "description",
  "public_key",
  "key_status",
  "code_hash",
  "model_id",
  "tool_manifest_hash",
  "tools",
];

export async function runAgent(command: Command): Promise<void> {
  const [first, ...words] = command.words;
  const rest = { ...command, words };
  if (first === "show") {
    const [slug = ""] = requireWords(rest, "agent");
    const path = `/v1/identity/${encodeURIComponent(slug)}`;
    return call(command, { method: "GET", path }, "Agent", identityNames);
  }
  if (first === "register") {
    const [slug = ""] = requireWords(rest, "agent");
    requireKey(command);
    const body = await readIdentity(command, slug);
    const what = { method: "POST", path: "/v1/identity/register", body } as const;
    return call(command, what, "Registered.", identityNames);
  }
  if (first !== "tools") throw new UsageError("the agent commands are: show, register, tools");
  const [slug, ...tools] = words;
  if (slug === undefined || tools.length === 0) throw new UsageError("expected <agent> <tool>…");
  requireKey(command);
  const path = `/v1/identity/${encodeURIComponent(slug)}/tools`;
  const shown = ["agent_slug", "tool_manifest_hash", "tools"];
  return call(command, { method: "PUT", path, body: { tools } }, "Tools registered.", shown);
}

async function readIdentity(command: Command, slug: string): Promise<object> {
  const { line } = command;
  return {
    slug,
    name: single(line, "name"),
    description: single(line, "description"),
    code_hash: single(line, "code-hash"),
    model_id: single(line, "model-id"),
    tools: line.values.tool,
    ...(await readPublicKey(command, slug)),
  };
}

/** Sends only the public half of a private key, with a proof of possession. */
async function readPublicKey(command: Command, slug: string): Promise<object> {
  const { io, line } = command;
  const file = single(line, "public-key");
  const pem = await readAgentKey(command);
  if (pem === undefined) return file === undefined ? {} : { public_key_pem: await readText(io, file) };
  if (file !== undefined) throw new UsageError("give --agent-key or --public-key");
  let seed: Uint8Array;
  try {
    seed = decodePrivateKeyPem(pem);
  } catch {
    throw new UsageError("--agent-key: not a PEM Ed25519 private key");
  }
  return { public_key_pem: derivePublicKeyPem(seed), proof_of_possession: provePossession(seed, slug) };
}

/* `countersign claim`, `cancel` and `revoke`, of a request that was made before; `freeze` and `unfreeze`, of an agent. */

export async function runClaim(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const service = connect(command);
  const claimed = await claim(service, requestId, single(command.line, "run") ?? service.randomUuid());
  printResult(command, claimed, "Claimed. Run the action now, once.", [
    ["request", claimed.request_id],
    ["action", claimed.action],
    ["run", claimed.run],
    ["claimed", claimed.claimed_at],
  ]);
}

export async function runCancel(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const cancelled = await cancel(connect(command), requestId);
  printResult(command, cancelled, "Cancelled.", [
    ["request", cancelled.request_id],
    ["action", cancelled.action],
  ]);
}

export async function runAnswer(command: Command): Promise<void> {
  const [requestId = "", text = ""] = requireWords(command, "request id", "text");
  requireKey(command);
  const answered = await answer(connect(command), requestId, readNumber(command), text);
  printResult(command, answered, "Answered.", [
    ["request", answered.request_id],
    ["expires", answered.expires_at],
  ]);
}

function readNumber({ line }: Command): number {
  const text = single(line, "number") ?? "1";
  if (!/^[1-9]$/.test(text)) throw new UsageError("--number: expected 1-9");
  return Number(text);
}

const readReason = ({ line }: Command) => ({ reason: single(line, "reason") });

export async function runRevoke(command: Command): Promise<void> {
  const [requestId = ""] = requireWords(command, "request id");
  requireKey(command);
  const revoked = await revoke(connect(command), requestId, readReason(command));
  printResult(command, revoked, "Taken back. Nothing can use this approval any more.", [
    ["request", revoked.request_id],
    ["action", revoked.action],
    ["taken back", revoked.revoked_at],
    ["note", revoked.claimed_at && `run ${revoked.run} claimed it before: its action may have begun`],
  ]);
}

export async function runFreeze(command: Command): Promise<void> {
  const [slug = ""] = requireWords(command, "agent");
  const { reason } = readReason(command);
  if (reason === undefined) throw new UsageError("why? Give --reason");
  requireKey(command);
  const frozen = await freeze(connect(command), slug, reason);
  printResult(
    command,
    frozen,
    "Frozen. Its requests can't be approved, and its approvals can't be claimed or used.",
    [
      ["agent", frozen.slug],
      ["frozen", frozen.frozen_at],
    ],
  );
}

export async function runUnfreeze(command: Command): Promise<void> {
  const [slug = ""] = requireWords(command, "agent");
  requireKey(command);
  const agent = await unfreeze(connect(command), slug, readReason(command));
  printResult(command, agent, "Unfrozen. The agent may go on.", [["agent", agent.slug]]);
}

/* `countersign webhooks listen`: a receiver on this machine, for as long as the command runs. */

interface Created {
  id: string;
  secret: string;
}

export async function runWebhooks(command: Command): Promise<void> {
  const [first, ...words] = command.words;
  if (first !== "listen") throw new UsageError("the webhooks commands are: listen");
  requireWords({ ...command, words });
  requireKey(command);
  const service = connect(command);
  const count = readCount(command);
  const events = command.line.values.event ?? webhookEvents;
  let secret: string | null = null;
  let finish = () => {};
  const enough = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const seen = new Set<string>();
  const receiver = await command.io.openReceiver((received) => {
    const id = secret === null ? null : verify(command, received, secret);
    if (id === null) {
      command.io.tell("A message without a valid signature was refused.\n");
      return false;
    }
    if (!seen.has(id) && seen.size < count) print(command, id, received.body);
    if (seen.add(id).size >= count) finish();
    return true;
  });
  try {
    const body = { url: receiver.url, events };
    const created = await send<Created>(service, { method: "POST", path: "/v1/webhooks", body });
    secret = created.secret;
    command.io.tell(`Listening at ${receiver.url}. Press Ctrl+C to stop.\n`);
    await Promise.race([enough, receiver.stopped]).finally(() => remove(service, created));
  } finally {
    await receiver.close();
  }
}

const remove = (service: Service, { id }: Created) =>
  send(service, { method: "DELETE", path: `/v1/webhooks/${id}` });

function readCount({ line }: Command): number {
  const text = single(line, "count");
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError("--count: must be a whole number from 1");
  return Number(text);
}

function verify({ io }: Command, { headers, body }: Received, secret: string): string | null {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (id === undefined || time === undefined || signatures === undefined) return null;
  const message = { id, timestamp: Number(time), body };
  return verifyWithSecret(message, signatures, secret, io.nowSeconds()) ? id : null;
}

function print({ io, line }: Command, id: string, body: string): void {
  const message = parseStrictJson(body);
  if (!isJsonObject(message)) return;
  const { type, timestamp, data } = message;
  if (line.flags.has("json")) {
    io.print(`${JSON.stringify({ webhook_id: id, ...message })}\n`);
    return;
  }
  const facts = Object.entries(isJsonObject(data) ? data : {}).map(
    ([name, value]) => [name.replaceAll("_", " "), value] as const,
  );
  io.print(formatFacts(String(type), [["time", timestamp], ...facts, ["message", id]]));
}
