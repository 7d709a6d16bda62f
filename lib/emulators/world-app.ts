/**
 * The World App's part for test humans: takes the connector link's `i` and `k`, fetches and decrypts what is asked
 * from the bridge, and answers it with a real v3 proof or a refusal. Behind the page /dev/world-app. There is no prover
 * for v4 outside of World's own wallet, so it is that of somebody who has v3 alone: a request for `proofOfHuman` gets
 * the Orb credential that the request accepts in its place.
 */

import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { z } from "zod";
import { base64Decode, concatBytes, hexDecode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  actionField,
  externalNullifier,
  hashSignal,
  parseFieldElement,
  parseWord,
  wordHex,
} from "#lib/protocol/world-id/world-id-proof";
import {
  type LocalLevel,
  type Prover,
  ProverBusyError,
  type TestHuman,
  testHumans,
  treeRoot,
} from "./prover";
import { open, seal, sealedSchema, type WalletBridge } from "./wallet-bridge";

async function readJson(request: Request, maxLength: number): Promise<unknown> {
  const text = await request.text();
  if (text.length > maxLength) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/*
 * World's Developer Portal, v4 verify endpoint, for the local stand-in: the same requests, answers, codes and
 * generosities (a reused nullifier is still a 200). It knows only its own two trees, its one app and the staging
 * environment, and checks every proof by pairing. As with the real one, no RP signature reaches it.
 */
const MAX_PROOF_LENGTH = 64 * 1024;
const MAX_NULLIFIERS = 10_000;
const MAX_ACTION_LENGTH = 128;
/** Limit: each costs a pairing, on the thread that answers requests. */
const MAX_RESPONSES = 8;
const EMPTY_SIGNAL_HASH = "0x00c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a4";

const hex = z.string().regex(/^0x[0-9a-fA-F]+$/);
const itemV3 = z.object({
  identifier: z.enum(["orb", "device", "face", "document", "secure_document"]),
  signal_hash: hex.default(EMPTY_SIGNAL_HASH),
  merkle_root: z.string(),
  nullifier: hex,
  proof: z.string(),
});
const body = z.object({
  protocol_version: z.enum(["3.0", "4.0"]),
  nonce: z.string(),
  action: z.string().min(1).max(MAX_ACTION_LENGTH),
  environment: z.enum(["production", "staging"]).default("production"),
  responses: z.array(z.unknown()).min(1).max(MAX_RESPONSES),
});

interface PortalStubSettings {
  app_id: string;
  rp_id: string;
  now?: () => number;
}

interface ItemResult {
  identifier: string;
  success: boolean;
  nullifier?: string;
  code?: string;
  detail?: string;
}

/** POST /api/v4/verify/:id */
export type PortalStub = (request: Request, params: { id: string }) => Promise<Response>;

export function createPortalStub(settings: PortalStubSettings): PortalStub {
  const firstSeen = new Map<string, string>();
  return async (request, { id }) => {
    if (id !== settings.app_id && id !== settings.rp_id) {
      const isId = /^(app|rp)_[a-z0-9_]+$/.test(id);
      return isId
        ? refuse("app_not_migrated", "This app is not registered.")
        : refuse("invalid_request", "Invalid ID format.");
    }
    const json = await readJson(request, MAX_PROOF_LENGTH);
    if (json === undefined) return refuse("invalid_request", "Invalid JSON in request body");
    const parsed = body.safeParse(json);
    if (!parsed.success) return refuse("validation_error", z.prettifyError(parsed.error));
    const items = z.array(itemV3).safeParse(parsed.data.responses);
    if (parsed.data.protocol_version === "3.0" && !items.success) {
      return refuse("validation_error", z.prettifyError(items.error));
    }
    if (parsed.data.environment !== "staging") {
      return refuse("environment_mismatch", "The local stand-in knows the staging environment only.");
    }
    const results = items.success
      ? await Promise.all(items.data.map((item) => verifyItem(item, settings.app_id, parsed.data.action)))
      : [
          {
            identifier: "unknown",
            success: false,
            code: "invalid_proof",
            detail: "The local stand-in has no v4 prover.",
          },
        ];
    return report(results, parsed.data, firstSeen, settings.now ?? Date.now);
  };
}

async function verifyItem(item: z.infer<typeof itemV3>, appId: string, action: string): Promise<ItemResult> {
  const { identifier } = item;
  const fail = (code: string, detail: string): ItemResult => ({ identifier, success: false, code, detail });
  const root = parseFieldElement(item.merkle_root);
  const nullifier = parseFieldElement(item.nullifier);
  const signalHash = parseWord(item.signal_hash);
  if (root === undefined || nullifier === undefined || signalHash === undefined) {
    return fail("invalid_format", "A number is malformed or not in the field.");
  }
  if (identifier !== "orb" && identifier !== "device") return fail("invalid_merkle_root", "No such tree.");
  if (root !== treeRoot(identifier))
    return fail("invalid_merkle_root", "The root is not of this credential's tree.");
  const world = {
    protocol_version: "3.0" as const,
    app_id: appId,
    rp_id: "",
    nonce: "",
    level: identifier satisfies LocalLevel,
    nullifier_hash: wordHex(nullifier),
    merkle_root: wordHex(root),
    proof: item.proof.toLowerCase(),
  };
  const [{ checkProofV3 }, { semaphoreKeyFor }] = await Promise.all([
    import("#lib/verifier/checks/check-world-proof"),
    import("#lib/protocol/world-id/world-id-keys"),
  ]);
  const check = checkProofV3(world, action, signalHash, semaphoreKeyFor("local"));
  if (check.ok) return { identifier, success: true, nullifier: world.nullifier_hash };
  return check.reason === "malformed_proof"
    ? fail("invalid_format", "The proof is not eight words that name points.")
    : fail("invalid_proof", "The proof does not verify.");
}

function report(
  results: ItemResult[],
  request: z.infer<typeof body>,
  firstSeen: Map<string, string>,
  now: () => number,
): Response {
  const first = results.find((result) => result.success);
  if (first?.nullifier === undefined) {
    return refuse("all_verifications_failed", "All proof verifications failed.", results);
  }
  const key = `${request.action} ${first.nullifier}`;
  const known = firstSeen.get(key);
  const createdAt = known ?? new Date(now()).toISOString();
  if (known === undefined && firstSeen.size < MAX_NULLIFIERS) firstSeen.set(key, createdAt);
  return Response.json({
    success: true,
    action: request.action,
    nullifier: first.nullifier,
    created_at: createdAt,
    environment: request.environment,
    protocol_version: request.protocol_version,
    results,
    message:
      known === undefined ? "Proof verified successfully" : "Proof verified successfully (nullifier reuse)",
  });
}

function refuse(code: string, detail: string, results?: ItemResult[]): Response {
  return Response.json({ success: false, code, detail, ...(results && { results }) }, { status: 400 });
}

/*
 * Checks of World's nodes before they help to make a nullifier: the registered RP must have asked for this action, now
 * and once. Errors carry the codes that IDKit knows.
 */
const CLOCK_SKEW_SECONDS = 300;
const MAX_TTL_SECONDS = 1800;
const MAX_NONCES = 10_000;

const seconds = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const word = z.string().regex(/^0x[0-9a-f]{64}$/);

/** `proof_request` of IDKit's request; fields that the stand-in has no use for are let through. */
const proofRequestSchema = z.object({
  created_at: seconds,
  expires_at: seconds,
  rp_id: z.string(),
  action: word,
  nonce: word,
  signature: z.string().regex(/^0x[0-9a-f]{130}$/),
  proof_requests: z.array(z.object({ identifier: z.string(), signal: z.string().nullish() })).min(1),
});
type SignedProofRequest = z.infer<typeof proofRequestSchema>;

type RpRefusal =
  | "unknown_rp"
  | "malformed_request"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_far_in_future"
  | "rp_signature_expired"
  | "invalid_rp_signature"
  | "duplicate_nonce";

interface RegisteredRp {
  rp_id: string;
  /** 20 bytes, hex with 0x. Asked for with each signature, because a start has better things to do than to compute it. */
  signer: () => string;
}

type RpChecker = (
  proofRequest: SignedProofRequest,
  action: string,
  signalHash: string,
) => RpRefusal | undefined;

export function rpAddress(signingKeyHex: string): string {
  const publicKey = secp256k1.getPublicKey(hexDecode(signingKeyHex.replace(/^0x/, "").toLowerCase()), false);
  return toAddress(publicKey);
}

export function createRpChecker(rp: RegisteredRp, now: () => number = Date.now): RpChecker {
  const nonces = new Map<string, number>();
  return (proofRequest, action, signalHash) => {
    const nowSeconds = Math.floor(now() / 1000);
    const refusal =
      checkMeaning(proofRequest, action, signalHash) ??
      checkTimes(proofRequest, nowSeconds) ??
      checkSigner(proofRequest, rp);
    if (refusal !== undefined) return refusal;
    for (const [nonce, expiresAt] of nonces) if (expiresAt < nowSeconds) nonces.delete(nonce);
    if (nonces.has(proofRequest.nonce) || nonces.size >= MAX_NONCES) return "duplicate_nonce";
    nonces.set(proofRequest.nonce, proofRequest.expires_at);
    return undefined;
  };
}

function checkMeaning(
  request: SignedProofRequest,
  action: string,
  signalHash: string,
): RpRefusal | undefined {
  const signals = request.proof_requests.map(({ signal }) => wordHex(hashSignal(signal ?? "")));
  const isSame = request.action === wordHex(actionField(action)) && signals.includes(signalHash);
  return isSame && parseFieldElement(request.nonce) !== undefined ? undefined : "malformed_request";
}

function checkTimes(
  { created_at, expires_at }: SignedProofRequest,
  nowSeconds: number,
): RpRefusal | undefined {
  if (expires_at <= created_at || expires_at > created_at + MAX_TTL_SECONDS) return "invalid_timestamp";
  if (created_at > nowSeconds + CLOCK_SKEW_SECONDS) return "timestamp_too_far_in_future";
  if (expires_at <= nowSeconds) return "rp_signature_expired";
  if (created_at < nowSeconds - CLOCK_SKEW_SECONDS) return "timestamp_too_old";
  return undefined;
}

function checkSigner(request: SignedProofRequest, rp: RegisteredRp): RpRefusal | undefined {
  if (request.rp_id !== rp.rp_id) return "unknown_rp";
  return recoverSigner(request) === rp.signer() ? undefined : "invalid_rp_signature";
}

/** 0x01 ‖ nonce ‖ created_at ‖ expires_at ‖ action, signed as an Ethereum personal message (EIP-191). */
function recoverSigner(request: SignedProofRequest): string | undefined {
  const message = concatBytes(
    Uint8Array.of(1),
    hexDecode(request.nonce.slice(2)),
    u64(request.created_at),
    u64(request.expires_at),
    hexDecode(request.action.slice(2)),
  );
  const digest = keccak_256(
    concatBytes(utf8Encode(`\x19Ethereum Signed Message:\n${message.length}`), message),
  );
  const signature = hexDecode(request.signature.slice(2));
  const v = signature[64] ?? 0;
  try {
    const recovered = concatBytes(Uint8Array.of(v - 27), signature.subarray(0, 64));
    const publicKey = secp256k1.recoverPublicKey(recovered, digest, { prehash: false });
    return toAddress(secp256k1.Point.fromBytes(publicKey).toBytes(false));
  } catch {
    return undefined;
  }
}

function toAddress(uncompressed: Uint8Array): string {
  return `0x${hexEncode(keccak_256(uncompressed.subarray(1)).subarray(12))}`;
}

function u64(value: number): Uint8Array {
  return hexDecode(BigInt(value).toString(16).padStart(16, "0"));
}

const MAX_OPENED = 200;
const TTL_MS = 900_000;
const MAX_BODY_LENGTH = 8192;

/** IDKit's request; fields that the stand-in has no use for are let through. */
const walletRequest = z.object({
  app_id: z.string(),
  action: z.string(),
  action_description: z.string().nullish(),
  signal: z.string().refine((text) => parseFieldElement(text) !== undefined),
  verification_level: z.string(),
  allow_legacy_proofs: z.boolean(),
  environment: z.string(),
  proof_request: proofRequestSchema.nullish(),
});
type WalletRequest = z.infer<typeof walletRequest>;

const answerBody = z.strictObject({
  i: z.string().max(256),
  k: z.string().max(64),
  decision: z.enum(["approve", "reject"]),
  human: z.string().max(64).optional(),
  level: z.enum(["orb", "device"]).optional(),
});

export interface WorldAppSettings {
  bridge: WalletBridge;
  appId: string;
  checkRp: RpChecker;
  prove: Prover;
  now?: () => number;
}

export interface WorldApp {
  /** GET /dev/world-app/api/request?i=…&k=… → what is asked and who may answer. */
  readRequest(request: Request): Promise<Response>;
  /** POST /dev/world-app/api/response {i, k, decision, human?, level?} → {sent: "proof"} or {sent: <error code>}. */
  sendResponse(request: Request): Promise<Response>;
}

interface Opened {
  request: WalletRequest;
  key: string;
  expiresAtMs: number;
}

export function createWorldApp(settings: WorldAppSettings): WorldApp {
  const now = settings.now ?? Date.now;
  const opened = new Map<string, Opened>();
  const find = async (id: string, key: string) => {
    for (const [oldId, entry] of opened) {
      if (entry.expiresAtMs <= now() || opened.size > MAX_OPENED) opened.delete(oldId);
    }
    const known = opened.get(id);
    if (known !== undefined) return known.key === key ? known.request : undefined;
    const request = await fetchRequest(settings.bridge, id, key);
    if (request !== undefined) opened.set(id, { request, key, expiresAtMs: now() + TTL_MS });
    return request;
  };
  return {
    readRequest: async (httpRequest) => {
      const { searchParams } = new URL(httpRequest.url);
      const [id, key] = [searchParams.get("i") ?? "", searchParams.get("k") ?? ""];
      const request = await find(id, key);
      return request === undefined ? notFound() : json(200, describe(id, request));
    },
    sendResponse: async (httpRequest) => {
      const body = answerBody.safeParse(await readJson(httpRequest, MAX_BODY_LENGTH));
      if (!body.success) return json(422, { error: z.prettifyError(body.error) });
      const request = await find(body.data.i, body.data.k);
      if (request === undefined) return notFound();
      try {
        return await send(settings, request, body.data);
      } catch (error) {
        if (error instanceof ProverBusyError) return json(503, { error: error.message });
        throw error;
      }
    },
  };
}

/** The bridge gives a request once, so a reload is answered from memory. */
async function fetchRequest(
  bridge: WalletBridge,
  id: string,
  key: string,
): Promise<WalletRequest | undefined> {
  const keyBytes = decodeKey(key);
  if (keyBytes === undefined) return undefined;
  const response = await bridge.takeRequest(new Request("http://localhost/request"), { id });
  if (!response.ok) return undefined;
  const sealed = sealedSchema.safeParse(await response.json());
  if (!sealed.success) return undefined;
  const request = walletRequest.safeParse(open(keyBytes, sealed.data));
  return request.success ? request.data : undefined;
}

function describe(id: string, request: WalletRequest): object {
  return {
    request_id: id,
    app_id: request.app_id,
    action: request.action,
    action_description: request.action_description ?? null,
    signal_hash: request.signal,
    environment: request.environment,
    required_level: request.verification_level,
    humans: testHumans.map((human) => ({ ...human, can_answer: levelFor(human, request) !== undefined })),
  };
}

/** Picks, like the World App, the strongest credential that the human holds, if it is enough. */
function levelFor(human: TestHuman, request: WalletRequest, wanted?: LocalLevel): LocalLevel | undefined {
  const enough: LocalLevel[] = request.verification_level === "device" ? ["orb", "device"] : ["orb"];
  return enough.find((level) => human.levels.includes(level) && (wanted === undefined || wanted === level));
}

async function send(
  settings: WorldAppSettings,
  request: WalletRequest,
  body: z.infer<typeof answerBody>,
): Promise<Response> {
  const reply = await makeReply(settings, request, body);
  const keyBytes = decodeKey(body.k);
  if (keyBytes === undefined) return notFound();
  const put = new Request("http://localhost/response", {
    method: "PUT",
    body: JSON.stringify(seal(keyBytes, reply)),
  });
  const response = await settings.bridge.putResponse(put, { id: body.i });
  if (response.status !== 201)
    return json(409, { error: "this request was answered already or has expired" });
  return json(200, { sent: "error_code" in reply ? reply.error_code : "proof" });
}

async function makeReply(
  { appId, checkRp, prove }: WorldAppSettings,
  request: WalletRequest,
  body: z.infer<typeof answerBody>,
): Promise<object> {
  if (body.decision === "reject") return { error_code: "user_rejected" };
  if (request.app_id !== appId) return { error_code: "invalid_network" };
  if (!request.allow_legacy_proofs) return { error_code: "world_id_4_not_available" };
  if (request.verification_level !== "orb" && request.verification_level !== "device") {
    return { error_code: "credential_unavailable" };
  }
  const human = testHumans.find(({ id }) => id === body.human);
  const level = human === undefined ? undefined : levelFor(human, request, body.level);
  if (human === undefined || level === undefined) return { error_code: "credential_unavailable" };
  if (request.proof_request) {
    const refusal = checkRp(request.proof_request, request.action, request.signal);
    if (refusal !== undefined) return { error_code: refusal };
  }
  const proof = await prove({
    human,
    level,
    externalNullifier: externalNullifier(request.app_id, request.action),
    signalHash: BigInt(request.signal),
  });
  return { ...proof, verification_level: level };
}

function decodeKey(key: string): Uint8Array | undefined {
  try {
    const bytes = base64Decode(key);
    return bytes.length === 32 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function notFound(): Response {
  return json(404, { error: "no such request, or it has expired, or the key in the link is wrong" });
}

function json(status: number, body: object): Response {
  return Response.json(body, { status, headers: { "Cache-Control": "no-store" } });
}
