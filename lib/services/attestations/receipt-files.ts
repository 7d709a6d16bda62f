/**
 * An attestation as files for other people's tools: Sigstore bundle, DSSE envelope, tlog-proof, the exact payload
 * and the bare signature. A private one is, for everyone but its owner, an id that does not exist.
 */

import type { Principal } from "#lib/api/http/principal";
import { AppError } from "#lib/errors";
import { readCommitTime } from "#lib/log/reading/reader";
import { computeDsseKeyId } from "#lib/protocol/keys/ed25519-key";
import { BUNDLE_MEDIA_TYPE, computeLogId, encodeBundle } from "#lib/protocol/statement/bundle";
import { type Envelope, encodeEnvelope } from "#lib/protocol/statement/dsse";
import { STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import { encodeTlogProof } from "#lib/protocol/tlog/tlog-proof";
import type { Context } from "#lib/services/approvals/context";
import { proveEntry, type StoredEntry } from "./entry-proofs";
import { attestationNotFound, maySee, readAttestation, type StoredAttestation } from "./stored-receipt";
import { isErased } from "./view";

export type ReceiptFileKind = "bundle" | "envelope" | "tlog-proof" | "payload" | "signature";

export interface ReceiptFile {
  name: string;
  mediaType: string;
  content: string | Uint8Array;
}

type Writer = (context: Context, stored: StoredAttestation) => Promise<Omit<ReceiptFile, "name">>;

const suffixes: Record<ReceiptFileKind, string> = {
  bundle: "sigstore.json",
  envelope: "dsse.json",
  "tlog-proof": "tlog-proof",
  payload: "payload.json",
  signature: "sig",
};

const writers: Record<ReceiptFileKind, Writer> = {
  bundle: async (context, stored) => ({
    mediaType: BUNDLE_MEDIA_TYPE,
    content: await makeBundle(context, stored),
  }),
  envelope: async (context, stored) => ({
    mediaType: "application/vnd.dsse.envelope.v1+json",
    content: encodeEnvelope(await makeEnvelope(context, stored)),
  }),
  "tlog-proof": async (context, stored) => ({
    mediaType: "text/plain; charset=utf-8",
    content: makeTlogProof(await proveEntry(context, stored)),
  }),
  payload: async (_context, stored) => ({ mediaType: STATEMENT_MEDIA_TYPE, content: requirePayload(stored) }),
  signature: async (_context, stored) => ({
    mediaType: "application/octet-stream",
    content: stored.signature,
  }),
};

function requirePayload(stored: StoredAttestation): Uint8Array {
  if (stored.payload !== null) return stored.payload;
  const why = isErased(stored) ? "was erased by its owner" : "is gone, and no erasure is recorded";
  throw new AppError("attestation_erased", `the content of this attestation ${why}`);
}

async function makeEnvelope(context: Context, stored: StoredAttestation): Promise<Envelope> {
  const payload = requirePayload(stored);
  const key = (await context.keys.published()).find(({ keyId }) => keyId === stored.key_id);
  if (!key) throw new Error(`attestation ${stored.id} names the unknown key ${stored.key_id}`);
  return {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload,
    keyId: computeDsseKeyId(key.publicKey),
    signature: stored.envelope_signature,
  };
}

async function makeBundle(context: Context, stored: StoredAttestation): Promise<string> {
  const envelope = await makeEnvelope(context, stored);
  const log = await proveEntry(context, stored);
  const integratedAt = await readCommitTime(context.database.db, stored.log_id, stored.leaf_index);
  return encodeBundle({
    envelope,
    leaf: log.entry,
    index: log.index,
    integratedAtSeconds: Math.floor(integratedAt.getTime() / 1000),
    proof: log.inclusionProof,
    checkpoint: log.checkpoint,
    logId: computeLogId(await context.keys.logVerifierKey(log.origin)),
  });
}

/** The leaf goes into the extra line, so that the file proves something by itself. */
function makeTlogProof({ index, inclusionProof, checkpoint, entry }: StoredEntry): string {
  return encodeTlogProof({ index, proof: inclusionProof, checkpoint, extra: entry });
}

export async function readReceiptFile(
  context: Context,
  id: string,
  viewer: Principal | null,
  kind: ReceiptFileKind,
): Promise<ReceiptFile> {
  const stored = await readAttestation(context, id, kind !== "bundle");
  if (!maySee(stored, viewer)) throw attestationNotFound();
  return { name: `${stored.id}.${suffixes[kind]}`, ...(await writers[kind](context, stored)) };
}
