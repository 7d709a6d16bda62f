/** An attestation that a rule allowed, in a log of three leaves whose order a lying service chooses. */

import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { buildAuthorization } from "#lib/protocol/approval/approval";
import { buildDecisionStatement } from "#lib/protocol/approval/approval-decision";
import type { ApprovalStop } from "#lib/protocol/approval/approval-end";
import { describeBacking } from "#lib/protocol/approval/assign-groups";
import { base64Encode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { emptyRecord, extendRecord, type RecordHead } from "#lib/protocol/record/agent-record";
import { signEnvelope } from "#lib/protocol/statement/dsse";
import { buildActionStatement } from "#lib/protocol/statement/statement";
import { encodeVerifierKey, makeVerifierKey, signCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { inclusionRanges, leafHash, rootOfLeafHashes } from "#lib/protocol/tlog/merkle";
import { makeAmendedAuthorization } from "./enrolled-approvals";
import { signForTest, testFacts, testKeyId, testRequest } from "./human-authorization";

/** The key of {@link signForTest}. */
const service = createLocalSigner(Buffer.alloc(32, 7).toString("base64"), "test");
const log = createLocalSigner(Buffer.alloc(32, 8).toString("base64"), "test");
const origin = "countersign.example/log";
const logKey = makeVerifierKey(origin, 1, log.publicKey);

const agent_id = "019a0000-0000-7000-8000-000000000003";

const placeAfter = ({ sequence, link }: RecordHead) => ({
  agent_id,
  sequence: sequence + 1,
  previous: hexEncode(link),
});

async function sign(payload: Uint8Array) {
  const envelope = await signEnvelope(payload, service.publicKey, (bytes) => service.sign(bytes));
  const entry = encodeLogLeaf(makeLogLeaf(envelope, service.publicKey));
  return { payload, envelope, entry };
}

/** The first or the last leaf, with something between it and the other one. */
async function placeIn(entry: Uint8Array, index: 0 | 2, otherLeaf: Uint8Array) {
  const leaves = [leafHash(entry), new Uint8Array(32).fill(2), otherLeaf];
  if (index === 2) leaves.reverse();
  const root = rootOfLeafHashes(leaves);
  const checkpoint = await signCheckpoint({ origin, size: 3, root }, logKey, (bytes) => log.sign(bytes));
  const proof = inclusionRanges(index, 3).map(([from, to]) => rootOfLeafHashes(leaves.slice(from, to)));
  const inclusion_proof = proof.map(base64Encode);
  return { origin, index, tree_size: 3, entry: base64Encode(entry), inclusion_proof, checkpoint };
}

export interface DecidedReceipt {
  answer: JsonObject;
  /** Answer about the second attestation. */
  again: JsonObject;
  /** The answers of GET /v1/pubkey and GET /v1/agent/{slug}/record. */
  keys: JsonObject;
  record: JsonObject;
}

export interface DecidedLie {
  /** The decision's leaf comes after the attestation's; its number is the smaller one all the same. */
  isLate?: boolean;
  /** Set to put another entry between the two in the record. */
  isApart?: boolean;
  /** The hash that the record has under the decision's number instead. */
  listed?: Uint8Array;
  /** Link that the decision names before it, in place of the real one. */
  previous?: string;
  /** Time of the freeze, as the attestation says. */
  frozen?: string;
  /** Reason for which the approval was stopped after a run had claimed it, as the attestation says. */
  stop?: ApprovalStop;
  /** The record has a second attestation that the same decision is behind. */
  isTwice?: boolean;
  /** The approved request changes another one, which was cancelled before or after that. */
  cancelled?: "before" | "after";
}

export async function makeDecidedReceipt(lie: DecidedLie = {}): Promise<DecidedReceipt> {
  const { isLate = false, isApart = false, isTwice = false, listed, previous, frozen, stop } = lie;
  const amended = lie.cancelled === undefined ? null : makeAmendedAuthorization();
  const cancel = (head: RecordHead) =>
    sha256(
      buildDecisionStatement({
        ...{ decision: "cancelled", request_hash: amended?.request.amends?.request_hash ?? "" },
        ...{ decided_at: amended?.request.created_at ?? "", key_id: testKeyId },
        ...{ authorization_hash: null, record: placeAfter(head) },
      }),
    );
  const before = lie.cancelled === "before" ? [cancel(emptyRecord(agent_id))] : [];
  const start = before.reduce(extendRecord, emptyRecord(agent_id));
  const decided = { ...placeAfter(start), ...(previous !== undefined && { previous }) };
  const hash = "ab".repeat(32);
  const kind = "rule" as const;
  const decided_by = { kind, ruleset_hash: hash, policy_ids: ["p"], context_hash: hash };
  const signed =
    amended ?? signForTest(buildAuthorization(testRequest, { ...testFacts, approvals: [], decided_by }));
  const decision = await sign(
    buildDecisionStatement({
      ...{ decision: "approved", request_hash: signed.binding.request_hash },
      ...{ decided_at: signed.approved_at, key_id: testKeyId, record: decided },
      authorization_hash: canonicalHash({ ...signed } as unknown as JsonObject),
    }),
  );
  const hashes = [
    ...before,
    listed ?? sha256(decision.payload),
    ...(isApart ? [new Uint8Array(32).fill(4)] : []),
  ];
  if (lie.cancelled === "after") hashes.push(cancel(hashes.reduce(extendRecord, emptyRecord(agent_id))));
  const head = hashes.reduce(extendRecord, emptyRecord(agent_id));
  // The other leaf stands for the attestation's, which names the object with its place in the log.
  const place = await placeIn(decision.entry, isLate ? 2 : 0, new Uint8Array(32).fill(1));
  const object = { ...signed, log: { ...place, record: decided } };
  const { organization, agent_slug, action, inputs_hash } = signed.request;
  const authorization = object as unknown as JsonObject;
  const human_approval = describeBacking(authorization);
  if (human_approval === null || inputs_hash === undefined) throw new Error("no authorization");
  const attestation_id = "019a0000-0000-7000-8000-000000000001";
  const predicate = {
    ...{ timestamp: signed.approved_at, key_id: testKeyId, organization, is_public: true, salt: "AAAA" },
    human_approval,
    request: { agent_slug, action, inputs_hash, human_authorization_hash: canonicalHash(authorization) },
    registered: { agent_public_key: null, code_hash: null, tool_manifest_hash: null },
    ...(frozen !== undefined && { agent_frozen_at: frozen }),
    ...(stop && { approval_stopped: stop }),
    verdicts: { agent_authenticated: null, code_hash_verified: null, tools_authorized: null },
  };
  const attest = async (id: string, after: RecordHead) => {
    const said = { ...predicate, attestation_id: id, record: placeAfter(after) };
    const made = await sign(buildActionStatement(said));
    const { timestamp, key_id, is_public } = predicate;
    const answer: JsonObject = {
      ...{ attestation_id: id, agent_slug, timestamp, key_id, is_public },
      payload: new TextDecoder().decode(made.payload),
      payload_hash: hexEncode(sha256(made.payload)),
      signature: base64Encode(service.sign(made.payload)),
      envelope_signature: base64Encode(made.envelope.signature),
      log: await placeIn(made.entry, isLate ? 0 : 2, leafHash(decision.entry)),
      human_authorization: authorization,
    };
    return { answer, hash: sha256(made.payload) };
  };
  const first = await attest(attestation_id, head);
  const between = extendRecord(head, first.hash);
  const again = await attest("019a0000-0000-7000-8000-000000000002", between);
  const attested = isTwice ? [first, again] : [first];
  const { sequence, link } = attested.reduce((at, { hash: next }) => extendRecord(at, next), head);
  const entries = [
    ...hashes.map((payload, i) => ({
      kind: i > 0 && isApart ? "agent_change" : "decision",
      payload,
      log_index: i,
    })),
    ...attested.map(({ answer, hash: payload }, i) => ({
      ...{ kind: "attestation", payload, log_index: Math.max(2, hashes.length) + i, public_url: "" },
      attestation_id: String(answer["attestation_id"]),
    })),
  ];
  return {
    answer: first.answer,
    again: again.answer,
    keys: {
      keys: [
        {
          ...{ key_id: testKeyId, public_key: base64Encode(service.publicKey), log_origin: origin },
          ...{ valid_from_index: 0, valid_to_index: null },
        },
      ],
      log: { origin, vkey: encodeVerifierKey(logKey) },
    },
    record: {
      ...{ slug: agent_slug, agent_id, next: null, head: { sequence, link: hexEncode(link) } },
      entries: entries.map(({ payload, ...entry }, i) => ({
        ...{ sequence: i + 1, payload_hash: hexEncode(payload), log_origin: origin },
        visibility: entry.kind === "attestation" ? "public" : "private",
        ...entry,
      })),
    },
  };
}
