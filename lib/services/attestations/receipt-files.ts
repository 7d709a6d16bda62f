/**
 * An attestation as files for other people's tools: Sigstore bundle, DSSE envelope, tlog-proof, the exact payload
 * and the bare signature. A private one is, for everyone but its owner, an id that does not exist.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { and, eq } from "drizzle-orm";
import type { Principal } from "#lib/api/http/context";
import type { Call, Reply } from "#lib/api/http/pipeline";
import type { AnchorsResponse } from "#lib/api/schemas/record";
import type { Executor } from "#lib/db/client";
import { servedPackages } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { readCommitTime } from "#lib/log/reading/reader";
import { base64Encode, bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { computeDsseKeyId } from "#lib/protocol/keys/ed25519";
import { BUNDLE_MEDIA_TYPE, computeLogId, encodeBundle } from "#lib/protocol/statement/bundle";
import { type Envelope, encodeEnvelope } from "#lib/protocol/statement/dsse";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { encodeScitt, SCITT_MEDIA_TYPE } from "#lib/protocol/statement/scitt";
import { STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import { parseCheckpoint, parseNote } from "#lib/protocol/tlog/checkpoint";
import { encodeTlogProof } from "#lib/protocol/tlog/tlog-proof";
import type { Context } from "#lib/services/approvals/context";
import {
  attestationNotFound,
  describeAnchor,
  maySee,
  proveEntry,
  proveTime,
  readAttestation,
  readWithTime,
  type StoredAttestation,
  type StoredEntry,
} from "./stored-receipt";
import { isErased } from "./view";

export type ReceiptFileKind = "bundle" | "envelope" | "tlog-proof" | "payload" | "signature" | "scitt";

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
  scitt: "cose",
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
  scitt: async (context, stored) => ({
    mediaType: SCITT_MEDIA_TYPE,
    content: await makeScitt(context, stored),
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

/** Signed when it is asked for, by the keys of now: nothing but the payload and its leaf is kept. */
async function makeScitt(context: Context, stored: StoredAttestation): Promise<Uint8Array> {
  const { keys, settings } = context;
  const payload = requirePayload(stored);
  const { origin, index, entry, inclusionProof, checkpoint } = await proveEntry(context, stored);
  const { publicKey } = await keys.logVerifierKey(origin);
  if (!bytesEqual(publicKey, keys.logSigner.publicKey))
    throw new AppError("not_found", "the key of the log that has this attestation is no longer at hand");
  const { size, root } = parseCheckpoint(parseNote(checkpoint).text);
  const log = { origin, signer: keys.logSigner, index, treeSize: size, root, inclusionProof, entry };
  const { signer } = keys;
  return encodeScitt({ payload, attestationId: stored.id, issuer: settings.baseUrl, signer, log });
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

/* GET /v1/verify/:id/anchors: hashes and other people's signatures, so private attestations have it for everyone too. */

export async function readAnchors(context: Context, id: string): Promise<AnchorsResponse> {
  const stored = await readWithTime(context, id);
  const { origin, index, entry } = await proveEntry(context, stored);
  const { anchors } = await proveTime(context.database, stored);
  return {
    attestation_id: stored.id,
    payload_hash: hexEncode(stored.payload_hash),
    log: { origin, index, entry: base64Encode(entry) },
    anchors: anchors.map(describeAnchor),
  };
}

/* Downloads for people and agents, as bundled (.ci/bundle.mjs) and as served. */

export type PackageName = typeof NPM_PACKAGE | typeof PYTHON_WHEEL;
export type ProgramName = "verify.mjs" | "countersign.mjs" | PackageName;

export interface ProgramFile {
  bytes: Uint8Array<ArrayBuffer>;
  sha256Hex: string;
}

export async function describePrograms() {
  return {
    verifierSha256: (await readProgramFile("verify.mjs"))?.sha256Hex ?? null,
    npmPackagePath: await packagePath(NPM_PACKAGE),
    pythonWheelPath: await packagePath(PYTHON_WHEEL),
  };
}

const shortenDigest = (sha256Hex: string) => sha256Hex.slice(0, 16);

/** Path with the digest, so that its bytes never change: a lockfile keeps both. */
export async function packagePath(name: PackageName): Promise<string> {
  const file = await readProgramFile(name);
  return file === null ? `/${name}` : `/packages/${shortenDigest(file.sha256Hex)}/${name}`;
}

/**
 * The file of this address, which this version or one before it has served; null if none has. Stored before it is served
 * for the first time, so that the version after this one has it.
 */
export async function readPackage(db: Executor, digest: string, name: string): Promise<Uint8Array | null> {
  if (!/^[0-9a-f]{16}$/.test(digest) || !/^[\w.-]+$/.test(name)) return null;
  const isHere = and(eq(servedPackages.digest, digest), eq(servedPackages.name, name));
  const current = ([NPM_PACKAGE, PYTHON_WHEEL] as const).find((known) => known === name);
  const file = current === undefined ? null : await readProgramFile(current);
  if (file !== null && shortenDigest(file.sha256Hex) === digest) {
    const [known] = await db.select({ name: servedPackages.name }).from(servedPackages).where(isHere);
    const row = { digest, name, bytes: file.bytes };
    if (known === undefined) await db.insert(servedPackages).values(row).onConflictDoNothing();
    return file.bytes;
  }
  const [stored] = await db.select({ bytes: servedPackages.bytes }).from(servedPackages).where(isHere);
  const isIntact = stored !== undefined && shortenDigest(hashBytes(stored.bytes)) === digest;
  return isIntact ? stored.bytes : null;
}

const hashBytes = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Keyed by path. */
const kept = new Map<string, ProgramFile>();

/** Null before the build has made it (`next dev` in a fresh clone). */
export async function readProgramFile(name: ProgramName): Promise<ProgramFile | null> {
  const file = path.join(process.cwd(), "dist", name);
  const known = kept.get(file);
  if (known !== undefined) return known;
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (bytes === null) return null;
  const read = { bytes: new Uint8Array(bytes), sha256Hex: hashBytes(bytes) };
  kept.set(file, read);
  return read;
}

/* Redirects for attestations of another log of the list, to the service whose number the id has. */

/**
 * `read`, or a redirect where this service has no such attestation and the id names another one. There the number is its
 * own, so no client is redirected twice.
 */
export const redirectToOwningLog =
  <Query>(read: (call: Call<null, Query, Context>) => Promise<Reply | Response>) =>
  async (call: Call<null, Query, Context>): Promise<Reply | Response> => {
    try {
      return await read(call);
    } catch (error) {
      const isUnknown = error instanceof AppError && error.errorName === "attestation_not_found";
      const base = isUnknown ? call.context.logList?.baseOf(call.params["id"] ?? "") : null;
      if (!base) throw error;
      const location = `${base}${new URL(call.request.url).pathname}`;
      return new Response(null, { status: 307, headers: { location, "cache-control": "no-store" } });
    }
  };
