/** Real work for the service, done by many at once: what each heard is in the ledger. */
import { setTimeout as sleep } from "node:timers/promises";
import { slugOf } from "#support/load";
import type { Chance } from "./chance";
import { type Client, type Heard, isUnknown } from "./clients";
import type { Ledger, Sent } from "./ledger";

export interface Work {
  ledger: Ledger;
  client: Client;
  chance: Chance;
  key: string;
  bases: readonly string[];
  /** True while the load goes on. */
  isOn(): boolean;
}

let last = 0;
function nextName(kind: string): string {
  last += 1;
  return `${kind}-${last}`;
}

/** One of the instances, whichever is alive. */
export const anywhere = ({ bases, chance }: Work) => chance.pick(bases);

function keepReceipt({ ledger }: Work, sent: Sent, { body }: Heard): void {
  const { attestation_id: id, payload_hash, record, log } = body;
  if (!sent.acknowledged.has(id)) ledger.receipts.push({ id, payload_hash, record, log });
  sent.acknowledged.add(id);
}

export function describeAttestation(work: Work, kind: string, authorizationId: string | null = null): Sent {
  const sent = { action: nextName(kind), acknowledged: new Set<string>(), authorizationId, isOpen: false };
  work.ledger.sent.push(sent);
  return sent;
}

/** True if it was rejected because another request with its key is under way; for how long, the ledger counts. */
export function isKeyTaken({ ledger }: Work, key: string, { body, headers }: Heard): boolean {
  const isTaken = body?.code === "idempotency_conflict";
  if (isTaken) ledger.noteConflict(key, headers.has("retry-after"));
  else ledger.endConflict(key);
  return isTaken;
}

/** One request; false if its outcome is not known, or another with its key is under way. */
export async function attestOnce(
  work: Work,
  sent: Sent,
  more: { headers?: Record<string, string>; body?: object } = {},
): Promise<boolean> {
  const { client, key } = work;
  const agent_slug = slugOf(last);
  const body = { agent_slug, action: sent.action, inputs_hash: "x", ...more.body };
  const heard = await client.call(anywhere(work), "POST", "/v1/attest", { ...more, key, body });
  const used =
    sent.authorizationId !== null && heard.body?.code === "authorization_already_used" ? [422] : [];
  if (isKeyTaken(work, sent.action, heard)) return false;
  if (!client.judge("attest", heard, [201, ...used])) return false;
  if (heard.status === 201) keepReceipt(work, sent, heard);
  return true;
}

async function attest(work: Work): Promise<void> {
  await attestOnce(work, describeAttestation(work, "plain"));
}

/** Sent twice at once, and again until it is answered. */
async function attestWithKey(work: Work): Promise<void> {
  const sent = describeAttestation(work, "keyed");
  sent.isOpen = true;
  const body = { agent_slug: slugOf(last) };
  const more = { headers: { "idempotency-key": sent.action }, body };
  const known = await Promise.all([attestOnce(work, sent, more), attestOnce(work, sent, more)]);
  for (let isKnown = known.every(Boolean); !isKnown && work.isOn(); ) {
    await sleep(100);
    isKnown = await attestOnce(work, sent, more);
  }
  sent.isOpen = false;
}

/** A random receipt of those that are not erased. */
function anyReceipt({ ledger, chance }: Work) {
  const found = ledger.receipts.length === 0 ? undefined : chance.pick(ledger.receipts);
  return found === undefined || ledger.erasing.has(found.id) ? undefined : found;
}

async function verify(work: Work): Promise<void> {
  const receipt = anyReceipt(work);
  if (receipt === undefined) return;
  const heard = await work.client.call(anywhere(work), "GET", `/v1/verify/${receipt.id}`, { key: work.key });
  const isKnown = work.client.judge("verify", heard, [200]);
  const isGone = work.ledger.erasing.has(receipt.id);
  if (isKnown && !isGone && heard.body.valid !== true)
    work.ledger.unexpected.push(`verify ${receipt.id}: ${JSON.stringify(heard.body).slice(0, 300)}`);
}

async function erase(work: Work): Promise<void> {
  const receipt = anyReceipt(work);
  if (receipt === undefined) return;
  if (work.ledger.sent.some(({ isOpen, acknowledged }) => isOpen && acknowledged.has(receipt.id))) return;
  // From now on it may be gone, whatever is answered.
  work.ledger.erasing.add(receipt.id);
  const target = `/v1/attestations/${receipt.id}/content`;
  for (let isKnown = false; !isKnown && work.isOn(); ) {
    const heard = await work.client.call(anywhere(work), "DELETE", target, { key: work.key });
    isKnown = !isUnknown(heard);
    if (work.client.judge("erase", heard, [200])) work.ledger.erased.add(receipt.id);
    if (!isKnown) await sleep(100);
  }
}

async function readCheckpoint(work: Work): Promise<void> {
  const heard = await work.client.call(anywhere(work), "GET", "/log/checkpoint");
  if (work.client.judge("checkpoint", heard, [200])) work.ledger.checkpoints.add(String(heard.body));
}

/** Shares of a client's next operation, in a hundred. */
const shares: [number, (work: Work) => Promise<void>][] = [
  [40, attest],
  [30, attestWithKey],
  [18, verify],
  [8, readCheckpoint],
  [4, erase],
];

function chooseOperation({ chance }: Work) {
  let left = chance.int(100);
  for (const [share, operation] of shares) {
    if (left < share) return operation;
    left -= share;
  }
  return attest;
}

/** One after the other, until the load is off. */
export async function runOperations(work: Work, pauseMs: number): Promise<void> {
  while (work.isOn()) {
    await chooseOperation(work)(work);
    await sleep(work.chance.next() * pauseMs);
  }
}
