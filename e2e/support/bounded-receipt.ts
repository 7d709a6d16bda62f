/** A receipt whose time others vouch for, made in memory, so that every clock in it is the test's. */

import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { base64Encode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { computeKeyId } from "#lib/protocol/keys/ed25519";
import { signEnvelope } from "#lib/protocol/statement/dsse";
import { type ActionPredicate, buildActionStatement } from "#lib/protocol/statement/statement";
import { toBound } from "#lib/protocol/time/not-before";
import type { NotBefore } from "#lib/protocol/time/not-before-shape";
import { encodeTimeStampRequest } from "#lib/protocol/time/time-stamp";
import {
  addNoteSignatures,
  cosignCheckpoint,
  makeVerifierKey,
  parseNote,
  signCheckpoint,
} from "#lib/protocol/tlog/checkpoint";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { leafHash } from "#lib/protocol/tlog/merkle";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import type { Authority } from "./tsa";

const signerOf = (n: number) => createLocalSigner(Buffer.alloc(32, n).toString("base64"), "test");
const [service, log, witness] = [signerOf(31), signerOf(32), signerOf(33)];
const origin = "example.com/log";
const logKey = makeVerifierKey(origin, 1, log.publicKey);
const witnessKey = makeVerifierKey("witness.example/w", 4, witness.publicKey);

async function signNote(size: number, root: Uint8Array, timesSeconds: number[]): Promise<string> {
  const note = await signCheckpoint({ origin, size, root }, logKey, (bytes) => log.sign(bytes));
  const lines = timesSeconds.map((time) =>
    cosignCheckpoint(parseNote(note).text, witnessKey, time, (bytes) => witness.sign(bytes)),
  );
  return addNoteSignatures(note, await Promise.all(lines));
}

export interface Clocks {
  /** Time by the service, in seconds. */
  made: number;
  /** Time by the witness on the checkpoint that the payload names; none: it names nothing. */
  after?: number;
  /** Bound that it names instead. */
  beacon?: NotBefore;
  /** Time by the witness on the checkpoint that covers it; none: there is no anchor. */
  before?: number;
  /** Stamps the same checkpoint, now. */
  authority?: Authority;
}

export interface BoundedReceipt {
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API, to be changed in every way
  answer: any;
  trust: VerifierTrust;
}

const predicateAt = (made: number): ActionPredicate => ({
  attestation_id: "019a0000-0000-7000-8000-000000000001",
  timestamp: new Date(made * 1000).toISOString(),
  key_id: computeKeyId(service.publicKey),
  organization: "org",
  is_public: true,
  salt: base64Encode(new Uint8Array(16)),
  record: { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 1, previous: "00".repeat(32) },
  request: { agent_slug: "clock-bot", action: "act", inputs_hash: "x" },
  registered: { agent_public_key: null, code_hash: null, tool_manifest_hash: null },
  verdicts: { agent_authenticated: null, code_hash_verified: null, tools_authorized: null },
  human_approval: { method: "none" },
});

/** A tree of one leaf, so that no proof has a hash. */
async function anchorsOf(root: Uint8Array, { before, authority }: Clocks) {
  if (before === undefined && authority === undefined) return [];
  const checkpoint = await signNote(1, root, before === undefined ? [] : [before]);
  const text = utf8Encode(parseNote(checkpoint).text);
  const query = encodeTimeStampRequest(sha256(text), new Uint8Array(8));
  const stamps =
    authority === undefined
      ? []
      : [{ tsa: "http://127.0.0.1/tsr", response: base64Encode(authority.reply(query)) }];
  return [{ tree_size: 1, inclusion_proof: [], checkpoint, time_stamps: stamps }];
}

/** `said`: what the payload says otherwise. */
export async function makeBoundedReceipt(
  clocks: Clocks,
  said: Partial<ActionPredicate> = {},
): Promise<BoundedReceipt> {
  const { made, after, beacon, authority } = clocks;
  const named = after === undefined ? null : await signNote(7, new Uint8Array(32), [after]);
  const bound = named === null ? beacon : toBound(named);
  const predicate = {
    ...predicateAt(made),
    ...(bound === undefined ? {} : { not_before: bound }),
    ...said,
  };
  const payload = buildActionStatement(predicate);
  const envelope = await signEnvelope(payload, service.publicKey, (bytes) => service.sign(bytes));
  const entry = encodeLogLeaf(makeLogLeaf(envelope, service.publicKey));
  const root = leafHash(entry);
  const answer = {
    attestation_id: predicate.attestation_id,
    agent_slug: "clock-bot",
    timestamp: predicate.timestamp,
    payload: new TextDecoder().decode(payload),
    payload_hash: hexEncode(sha256(payload)),
    signature: base64Encode(service.sign(payload)),
    envelope_signature: base64Encode(envelope.signature),
    key_id: predicate.key_id,
    is_public: true,
    log: {
      ...{ origin, index: 0, tree_size: 1, entry: base64Encode(entry), inclusion_proof: [] },
      checkpoint: await signNote(1, root, []),
    },
    time_bounds: {
      ...{ made_after: null, made_before: null, checkpoint: named },
      anchors: await anchorsOf(root, clocks),
    },
  };
  const timeAuthorities = authority === undefined ? [] : [authority.root];
  const key = {
    keyId: predicate.key_id,
    publicKey: service.publicKey,
    validFromIndex: 0,
    validToIndex: null,
  };
  const trust: VerifierTrust = {
    ...{ keys: [key], logKeys: [logKey], zkKeys: [], revokedZkKeys: [] },
    ...{ witnesses: [witnessKey], timeAuthorities },
  };
  return { answer, trust };
}
