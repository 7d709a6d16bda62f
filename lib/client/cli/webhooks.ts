/** `countersign webhooks listen`: a receiver on this machine, for as long as the command runs. */

import { type Service, send } from "#lib/client/api/transport";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { verifyWithSecret, webhookEvents } from "#lib/protocol/webhook/webhook";
import { type Command, connect, formatFacts, type Received, requireKey, requireWords } from "./io";

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

/** The message's id, if it is the endpoint's and of now. */
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
