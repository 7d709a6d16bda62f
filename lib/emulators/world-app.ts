/**
 * The World App's part for test humans: takes the connector link's `i` and `k`, fetches and decrypts what is asked
 * from the bridge, and answers it with a real v3 proof or a refusal. Behind the page /dev/world-app. There is no prover
 * for v4 outside of World's own wallet, so it is that of somebody who has v3 alone: a request for `proofOfHuman` gets
 * the Orb credential that the request accepts in its place.
 */
import { z } from "zod";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import { externalNullifier, parseFieldElement } from "#lib/protocol/world-id/world-id-proof";
import { readJson } from "./portal";
import { type LocalLevel, type Prover, ProverBusyError, type TestHuman, testHumans } from "./prover";
import { proofRequestSchema, type RpChecker } from "./rp-signature";
import { open, seal, sealedSchema, type WalletBridge } from "./wallet-bridge";

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

/** As the World App: the strongest credential that the human holds, if it is enough. */
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
