/**
 * Judges all that a database holds of logs, records and attestations with none of the service's own code: the rules of
 * docs/wire.md, computed again from the stored bytes.
 */
import { createHash } from "node:crypto";
import postgres from "postgres";

interface Leaf {
  log_id: number;
  leaf_index: string;
  agent_id: string | null;
  sequence: string | null;
  previous: Uint8Array | null;
  payload_hash: Uint8Array;
  origin: string;
  /** Payload of an attestation or a decision; null for the service's own statements. */
  payload: Uint8Array | null;
}

interface Head {
  agent_id: string;
  sequence: string;
  link: Uint8Array;
}

/** Part of the signed predicate that these rules need; a decision has its place alone. */
interface Predicate {
  record: { agent_id: string; sequence: number; previous: string };
  attestation_id?: string;
  request?: { action: string; client?: { instance: string; sequence: number } };
  verdicts?: { client_gap?: boolean };
}

export interface StoredAttestation {
  id: string;
  action: string;
  payload: string;
  place: { agentId: string; sequence: number; origin: string; index: number };
}

const hash = (...parts: (string | Uint8Array)[]) =>
  parts.reduce((sum, part) => sum.update(part), createHash("sha256")).digest();
const hex = (bytes: Uint8Array | null) => Buffer.from(bytes ?? []).toString("hex");
const label = "countersign/agent-record/v1\n";

function linkAfter(previous: Uint8Array, sequence: number, payloadHash: Uint8Array): Buffer {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(sequence));
  return hash(label, previous, number, payloadHash);
}

/** Throws unless the leaves of one agent are its record, from number 1 on; gives its last link. */
function followRecord(agentId: string, leaves: readonly Leaf[]): Uint8Array {
  let link: Uint8Array = hash(label, agentId);
  let before = { log_id: 0, leaf_index: -1 };
  for (const [i, leaf] of leaves.entries()) {
    const at = `number ${leaf.sequence} of agent ${agentId}`;
    if (Number(leaf.sequence) !== i + 1) throw new Error(`${at} is in the place of ${i + 1}`);
    if (hex(leaf.previous) !== hex(link)) throw new Error(`${at} does not name the link before it`);
    const index = Number(leaf.leaf_index);
    const isLater =
      leaf.log_id > before.log_id || (leaf.log_id === before.log_id && index > before.leaf_index);
    if (!isLater) throw new Error(`${at} is earlier in the log than the number before it`);
    before = { log_id: leaf.log_id, leaf_index: index };
    link = linkAfter(link, i + 1, leaf.payload_hash);
  }
  return link;
}

/** Throws unless the payload has the leaf's hash and names the leaf's place. */
function readPredicate({ payload, payload_hash, agent_id, sequence, previous }: Leaf): Predicate {
  if (payload === null) throw new Error(`number ${sequence} of agent ${agent_id} has no payload`);
  if (hex(hash(payload)) !== hex(payload_hash)) throw new Error(`a payload of agent ${agent_id} was changed`);
  const { predicate } = JSON.parse(Buffer.from(payload).toString()) as { predicate: Predicate };
  const expected = { agent_id, sequence: Number(sequence), previous: hex(previous) };
  const { record } = predicate;
  for (const [name, value] of Object.entries(expected))
    if (record[name as keyof typeof record] !== value)
      throw new Error(
        `a payload of agent ${agent_id} names another ${name} than its leaf, number ${sequence}`,
      );
  return predicate;
}

/** Throws unless each number of the agent's own was judged by the one before it in the record. */
function checkOwnNumbers(predicates: readonly Predicate[]): void {
  const last = new Map<string, number>();
  for (const { record, request, verdicts } of predicates) {
    const { client } = request ?? {};
    const isGap = client && client.sequence !== (last.get(client.instance) ?? 0) + 1;
    if (verdicts?.client_gap !== isGap)
      throw new Error(`number ${record.sequence} of agent ${record.agent_id}: client_gap is not ${isGap}`);
    if (client) last.set(client.instance, client.sequence);
  }
}

const leavesText = `SELECT l.log_id, l.leaf_index, l.agent_id, l.sequence, l.previous, l.payload_hash, logs.origin,
    coalesce(a.payload, r.decision_payload) AS payload
  FROM log_leaves l JOIN logs ON logs.id = l.log_id
  LEFT JOIN attestations a ON a.log_id = l.log_id AND a.leaf_index = l.leaf_index
  LEFT JOIN authorization_requests r ON r.log_id = l.log_id AND r.leaf_index = l.leaf_index
  ORDER BY l.agent_id, l.sequence`;

function groupByAgent(leaves: readonly Leaf[]): Map<string, Leaf[]> {
  const groups = new Map<string, Leaf[]>();
  for (const leaf of leaves) {
    if (leaf.agent_id === null) continue;
    const group = groups.get(leaf.agent_id);
    if (group) group.push(leaf);
    else groups.set(leaf.agent_id, [leaf]);
  }
  return groups;
}

/** Throws unless the leaves of one agent are its record, and lead to the head that is stored. */
function readAgent(agentId: string, leaves: readonly Leaf[], head: Head | undefined): StoredAttestation[] {
  const link = followRecord(agentId, leaves);
  if (Number(head?.sequence) !== leaves.length || hex(head?.link ?? null) !== hex(link))
    throw new Error(`the head of agent ${agentId} is not where its ${leaves.length} entries lead`);
  const predicates = leaves.map(readPredicate);
  checkOwnNumbers(predicates);
  return leaves.flatMap(({ origin, leaf_index, payload }, i) => {
    const { attestation_id: id, request } = predicates[i] as Predicate;
    if (id === undefined || request === undefined) return [];
    const place = { agentId, sequence: i + 1, origin, index: Number(leaf_index) };
    return [{ id, action: request.action, payload: Buffer.from(payload ?? []).toString(), place }];
  });
}

/** Throws what is wrong; else all attestations. Nothing may be erased. */
export async function readHistory(databaseUrl: string): Promise<StoredAttestation[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const groups = groupByAgent(await sql.unsafe<Leaf[]>(leavesText));
    const heads = await sql.unsafe<Head[]>(
      "SELECT agent_id, sequence, link FROM agent_records WHERE sequence > 0",
    );
    if (heads.length !== groups.size) throw new Error("a record has a head without entries, or the reverse");
    const byId = new Map(heads.map((head) => [head.agent_id, head]));
    return [...groups].flatMap(([agentId, leaves]) => readAgent(agentId, leaves, byId.get(agentId)));
  } finally {
    await sql.end();
  }
}
