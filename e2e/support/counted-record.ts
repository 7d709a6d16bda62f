/** The answers about one long record and its count, made in memory: a service with no other work than this. */
import type { RecordResponse } from "#lib/api/schemas/record";
import { signStatement } from "#lib/log/sequencer/entry";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import {
  base64Encode,
  concatBytes,
  hexEncode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import {
  agentTag,
  buildHeadsStatement,
  buildHeadsTree,
  HEAD_ROW_BYTES,
  headsTileReader,
} from "#lib/protocol/record/agent-heads";
import { emptyRecord, encodeUint64, extendRecord } from "#lib/protocol/record/agent-record";
import { encodeVerifierKey, makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { leafHash } from "#lib/protocol/tlog/merkle";
import { appendLeafHashes, emptyRightEdge, proveInclusion } from "#lib/protocol/tlog/tiles";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const [service, log] = [signerOf(41), signerOf(42)];
const log_origin = "example.com/log";
const agent_id = "00000000-0000-4000-8000-000000000041";
const salt = new Uint8Array(16).fill(41);
const hashOf = (text: string) => sha256(utf8Encode(text));

export interface CountedRecord {
  pubkey: object;
  page(from: number, limit: number): RecordResponse;
  rows: Uint8Array;
  statements: object;
}

/** Private entries alone; each of the other agents has one. */
export async function makeCountedRecord(
  slug: string,
  length: number,
  otherAgents: number,
): Promise<CountedRecord> {
  const hashes = Array.from({ length }, (_, i) => hashOf(`entry ${i}`));
  const head = hashes.reduce(extendRecord, emptyRecord(agent_id));
  const own = concatBytes(agentTag(salt, agent_id), encodeUint64(length), head.link);
  const others = Array.from({ length: otherAgents }, (_, i) =>
    concatBytes(hashOf(`tag ${i}`), encodeUint64(1), hashOf(`link ${i}`)),
  );
  const sorted = [own, ...others].sort(Buffer.compare);
  const rows = concatBytes(...sorted);
  const tree = buildHeadsTree(rows);
  const covers_size = length + otherAgents;
  const at = new Date().toISOString();
  const counts = { statements: 0, earlier_size: 0 };
  const about = { log_origin, covers_size, ...counts, at, signed_by: service.keyId };
  const sealed = signStatement(service, buildHeadsStatement(tree, about));
  const leaves = Array.from({ length: covers_size }, (_, i) => hashOf(`leaf ${i}`));
  const grown = appendLeafHashes(emptyRightEdge(), [...leaves, leafHash(sealed.leaf)]);
  const logKey = makeVerifierKey(log_origin, 1, log.publicKey);
  const checkpoint = { origin: log_origin, size: covers_size + 1, root: grown.edge.root };
  const signed = {
    payload: utf8Decode(sealed.payload),
    signature: base64Encode(sealed.signature),
    envelope_signature: base64Encode(sealed.envelopeSignature),
    key_id: service.keyId,
  };
  const row_index = sorted.indexOf(own);
  const tiles = headsTileReader(tree.agents, tree.nodes, async (start, count) =>
    rows.slice(start * HEAD_ROW_BYTES, (start + count) * HEAD_ROW_BYTES),
  );
  const snapshot = {
    rows_url: `https://example.com/log/agent-heads/${covers_size}`,
    salt: base64Encode(salt),
    row: base64Encode(own),
    row_index,
    inclusion_proof: (await proveInclusion(row_index, tree.agents, tiles)).map(base64Encode),
    statement: {
      ...signed,
      log: {
        origin: log_origin,
        index: covers_size,
        tree_size: covers_size + 1,
        entry: base64Encode(sealed.leaf),
        inclusion_proof: grown.proveAppended(covers_size).map(base64Encode),
        checkpoint: await signCheckpoint(checkpoint, logKey, (bytes) => log.sign(bytes)),
      },
    },
  };
  const key = { key_id: service.keyId, public_key: base64Encode(service.publicKey), status: "active" };
  return {
    pubkey: {
      keys: [{ ...key, log_origin, valid_from_index: 0, valid_to_index: null }],
      log: { vkey: encodeVerifierKey(logKey) },
    },
    page: (from, limit) => {
      const shown = hashes.slice(from - 1, from - 1 + limit);
      return {
        slug,
        agent_id,
        entries: shown.map((hash, i) => ({
          sequence: from + i,
          kind: "attestation",
          payload_hash: hexEncode(hash),
          log_origin,
          log_index: from + i - 1,
          visibility: "private",
        })),
        head: { sequence: head.sequence, link: hexEncode(head.link) },
        snapshot,
        next: from + shown.length <= length ? from + shown.length : null,
      };
    },
    rows,
    statements: {
      statements: [{ number: 1, kind: "agent_heads", log_origin, log_index: covers_size, ...signed }],
      next: null,
    },
  };
}
