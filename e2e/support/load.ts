/** Load on the service from outside, and the outsider's checks of its answers afterwards. */

import type { RecordResponse } from "#lib/api/schemas/record";
import { base64Decode, bytesEqual, hexDecode } from "#lib/protocol/encoding/bytes";
import type { RecordPlace } from "#lib/protocol/record/agent-record";
import { parseVerifierKey, type VerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { verifyAndRemember } from "#lib/services/attestations/stored-receipt";
import { type RecordWalk, walkRecord } from "#lib/verifier/checks/record-checks";
import { type LogVisitor, type RememberedCheckpoint, visitLog } from "./log";

/** Receipt fields that a client keeps of a 201. */
export interface KeptReceipt {
  id: string;
  payload_hash: string;
  record: RecordPlace;
  log: { index: number; tree_size: number; entry: string; inclusion_proof: string[]; checkpoint: string };
}

export interface Load {
  receipts: KeptReceipt[];
  /** Statuses other than 201; 0 if the connection broke. */
  failures: number[];
  /** Resolves when this many receipts have come, on a slow machine too; rejects after a minute. */
  reach(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Clients share agents, so that several write into one record at once. */
export const slugOf = (client: number) => `load-bot-${client % 3}`;

/** Clients that attest one after the other, until stopped or until the server is gone. */
export function startLoad(url: string, key: string, clients: number): Load {
  const receipts: KeptReceipt[] = [];
  const failures: number[] = [];
  let isStopped = false;
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  async function runClient(client: number): Promise<void> {
    for (let n = 0; !isStopped; n += 1) {
      const body = JSON.stringify({ agent_slug: slugOf(client), action: `${client}/${n}`, inputs_hash: "x" });
      try {
        const response = await fetch(`${url}/v1/attest`, { method: "POST", headers, body });
        const answer = (await response.json()) as Omit<KeptReceipt, "id"> & { attestation_id: string };
        const { attestation_id: id, payload_hash, record, log } = answer;
        if (response.status === 201) receipts.push({ id, payload_hash, record, log });
        else failures.push(response.status);
      } catch {
        failures.push(0);
        return;
      }
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
  return {
    receipts,
    failures,
    reach: async (count) => {
      for (const deadline = Date.now() + 60_000; receipts.length < count; ) {
        if (Date.now() > deadline) throw new Error(`only ${receipts.length} receipts came in a minute`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}

/** Between two requests the server may close the connection, which a busy test notices too late. */
const fetchAgain = (url: string) => fetch(url).catch(() => fetch(url));

/** The log at this address, through the network; full answers are kept, because tiles never change. */
export async function visitServer(url: string): Promise<{ log: LogVisitor; logKey: VerifierKey }> {
  const { log } = (await (await fetchAgain(`${url}/v1/pubkey`)).json()) as {
    log: { vkey: string; url: string };
  };
  const logKey = parseVerifierKey(log.vkey);
  const kept = new Map<string, { status: number; bytes: Uint8Array }>();
  const fetchLog = async (target: string) => {
    const known = kept.get(target);
    if (known) return known;
    const response = await fetchAgain(url + target);
    const answer = { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
    if (!target.endsWith("/checkpoint")) kept.set(target, answer);
    return answer;
  };
  return { log: visitLog(fetchLog, new URL(log.url).pathname, logKey), logKey };
}

/** Reads checkpoints; throws if the signature does not hold. A batch's receipts carry the same one, which is read once. */
function checkpointReader(logKey: VerifierKey): (text: string) => RememberedCheckpoint {
  const read = new Map<string, RememberedCheckpoint>();
  return (text) => {
    const known = read.get(text);
    if (known) return known;
    const verdict = verifyCheckpoint(text, logKey, verifyAndRemember);
    if (!verdict.ok) throw new Error(verdict.problem);
    read.set(text, verdict.checkpoint);
    return verdict.checkpoint;
  };
}

/** Throws unless the receipt's inclusion proof leads to its checkpoint. */
function checkReceipt({ log }: KeptReceipt, { size, root }: RememberedCheckpoint): void {
  const proof = log.inclusion_proof.map(base64Decode);
  const claim = { leafHash: leafHash(base64Decode(log.entry)), index: log.index, size, root, proof };
  if (!verifyInclusion(claim)) throw new Error(`the receipt of leaf ${log.index} proves nothing`);
}

/** An agent's whole record through its public pages; throws unless all of it holds. */
async function readRecord(url: string, slug: string): Promise<Map<number, string>> {
  const hashes = new Map<number, string>();
  let walk: RecordWalk | undefined;
  for (let from: number | null = 1; from !== null; ) {
    const page = (await (
      await fetchAgain(`${url}/v1/agent/${slug}/record?from=${from}`)
    ).json()) as RecordResponse;
    walk ??= walkRecord(page.agent_id);
    for (const { sequence, payload_hash, log_origin, log_index } of page.entries) {
      const entry = {
        sequence,
        payloadHash: hexDecode(payload_hash),
        logOrigin: log_origin,
        logIndex: log_index,
      };
      const fault = walk.add(entry);
      if (fault) throw new Error(`${slug}: ${fault.problem}`);
      hashes.set(sequence, payload_hash);
    }
    from = page.next;
    const fault = from === null ? walk.end({ ...page.head, link: hexDecode(page.head.link) }) : null;
    if (fault) throw new Error(`${slug}: ${fault.problem}`);
  }
  return hashes;
}

/** Throws unless every receipt has the number in its agent's record that the client was given. */
async function checkRecords(url: string, receipts: KeptReceipt[]): Promise<void> {
  const records = await Promise.all([0, 1, 2].map((client) => readRecord(url, slugOf(client))));
  const numbers = new Set<string>();
  for (const { payload_hash, record } of receipts) {
    const name = `${record.agent_id}/${record.sequence}`;
    if (numbers.has(name)) throw new Error(`number ${name} was given twice`);
    numbers.add(name);
    if (!records.some((hashes) => hashes.get(record.sequence) === payload_hash))
      throw new Error(`number ${name} is not the payload that was promised`);
  }
}

/**
 * Throws unless the whole log holds, every receipt's leaf is in it at its index, no index was given twice, and
 * every checkpoint that any receipt carried is a prefix of the log.
 */
export async function checkEverything(url: string, receipts: KeptReceipt[]): Promise<{ size: number }> {
  const { log, logKey } = await visitServer(url);
  const newest = Math.max(...receipts.map((receipt) => receipt.log.index));
  let whole = await log.check();
  for (let i = 0; i < 50 && whole.size <= newest; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    whole = await log.check();
  }
  if (!whole.ok) throw new Error(whole.problem);
  const seen = new Map<number, RememberedCheckpoint>();
  const indexes = new Set<number>();
  const readCheckpoint = checkpointReader(logKey);
  for (const receipt of receipts) {
    const checkpoint = readCheckpoint(receipt.log.checkpoint);
    checkReceipt(receipt, checkpoint);
    const same = seen.get(checkpoint.size);
    if (same && !bytesEqual(same.root, checkpoint.root))
      throw new Error(`two roots at size ${checkpoint.size}`);
    seen.set(checkpoint.size, checkpoint);
    if (indexes.has(receipt.log.index)) throw new Error(`index ${receipt.log.index} was given twice`);
    indexes.add(receipt.log.index);
    if ((await log.entry(receipt.log.index, whole.size)) !== receipt.log.entry)
      throw new Error(`leaf ${receipt.log.index} is not the one that was promised`);
  }
  for (const checkpoint of seen.values())
    if (!(await log.isPrefix(checkpoint, whole.size)))
      throw new Error(`size ${checkpoint.size} is no prefix`);
  const sample = [...seen.values()].filter((_, i) => i % Math.ceil(seen.size / 25) === 0);
  if (sample.length > 0 && !(await log.areConsistent(sample)))
    throw new Error("checkpoints are not consistent");
  if (receipts.length > 0) await checkRecords(url, receipts);
  return { size: whole.size };
}
