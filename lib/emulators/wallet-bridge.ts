/**
 * World's wallet bridge for the local stand-in: IDKit leaves an encrypted request, the wallet fetches it once and
 * leaves an encrypted response, which IDKit fetches once. In memory and bounded: one process, 15 minutes.
 * IDKit drops any path of `bridge_url`, so these must be served as `/request…` and `/response…` of the origin.
 */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";

/* AES-256-GCM as IDKit and the World App speak it through the bridge: ciphertext‖tag and a 12-byte IV, in base64. */

const TAG_BYTES = 16;

export const sealedSchema = z.strictObject({ iv: z.string().min(1).max(64), payload: z.string().min(1) });
export type Sealed = z.infer<typeof sealedSchema>;

export function seal(key: Uint8Array, value: unknown): Sealed {
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const bytes = Buffer.concat([
    cipher.update(JSON.stringify(value), "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return { iv: base64Encode(iv), payload: base64Encode(bytes) };
}

export function open(key: Uint8Array, { iv, payload }: Sealed): unknown {
  try {
    const bytes = base64Decode(payload);
    const decipher = createDecipheriv("aes-256-gcm", key, base64Decode(iv));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString(
      "utf8",
    );
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const TTL_MS = 900_000;
const MAX_BODY_BYTES = 64 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 1000;

const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, OPTIONS",
  "Access-Control-Allow-Headers": "content-type",
  "Cache-Control": "no-store",
};

const requestBody = z.strictObject({
  ...sealedSchema.shape,
  request_id: z
    .string()
    .regex(/^[A-Za-z0-9._-]{16,256}$/)
    .optional(),
});

interface Entry {
  status: "initialized" | "retrieved" | "completed";
  /** Gone once the wallet has it. */
  request?: Sealed;
  response?: Sealed;
  bytes: number;
  expiresAtMs: number;
}

type Params = { id: string };

export interface WalletBridge {
  createRequest(request: Request): Promise<Response>;
  takeRequest(request: Request, params: Params): Promise<Response>;
  hasRequest(request: Request, params: Params): Promise<Response>;
  putResponse(request: Request, params: Params): Promise<Response>;
  takeResponse(request: Request, params: Params): Promise<Response>;
  preflight(): Promise<Response>;
}

export function createWalletBridge(now: () => number = Date.now): WalletBridge {
  const store = createStore(now);
  return {
    createRequest: (request) => createRequest(store, request),
    takeRequest: async (_request, { id }) => {
      const entry = store.find(id);
      if (entry?.request === undefined) return answer(404);
      const sealed = entry.request;
      delete entry.request;
      entry.status = "retrieved";
      return answer(200, sealed);
    },
    hasRequest: async (_request, { id }) => answer(store.find(id)?.request === undefined ? 404 : 200),
    putResponse: (request, { id }) => putResponse(store, request, id),
    takeResponse: async (_request, { id }) => {
      const entry = store.find(id);
      if (entry === undefined) return answer(404);
      if (entry.response === undefined) return answer(200, { status: entry.status, response: null });
      store.remove(id);
      return answer(200, { status: "completed", response: entry.response });
    },
    preflight: async () => new Response(null, { status: 204, headers: cors }),
  };
}

type Store = ReturnType<typeof createStore>;

function createStore(now: () => number) {
  const entries = new Map<string, Entry>();
  let totalBytes = 0;
  const remove = (id: string) => {
    totalBytes -= entries.get(id)?.bytes ?? 0;
    entries.delete(id);
  };
  const find = (id: string) => {
    const entry = entries.get(id);
    if (entry !== undefined && entry.expiresAtMs <= now()) remove(id);
    return entries.get(id);
  };
  const makeRoom = (places: number, bytes: number) => {
    for (const [id, entry] of entries) {
      const isFull = entries.size + places > MAX_ENTRIES || totalBytes + bytes > MAX_TOTAL_BYTES;
      if (entry.expiresAtMs > now() && !isFull) return;
      remove(id);
    }
  };
  const add = (id: string, request: Sealed, bytes: number) => {
    makeRoom(1, bytes);
    entries.set(id, { status: "initialized", request, bytes, expiresAtMs: now() + TTL_MS });
    totalBytes += bytes;
  };
  const complete = (id: string, response: Sealed, bytes: number) => {
    makeRoom(0, bytes);
    const entry = entries.get(id);
    if (entry === undefined) return false;
    entry.response = response;
    entry.status = "completed";
    entry.bytes += bytes;
    totalBytes += bytes;
    return true;
  };
  return { add, complete, find, remove };
}

async function createRequest(store: Store, request: Request): Promise<Response> {
  const body = await readBody(request, requestBody);
  if (body === undefined) return answer(400);
  const { request_id: id = randomUUID(), ...sealed } = body.value;
  if (store.find(id) !== undefined) return answer(409);
  store.add(id, sealed, body.bytes);
  return answer(200, { request_id: id });
}

async function putResponse(store: Store, request: Request, id: string): Promise<Response> {
  const body = await readBody(request, sealedSchema);
  const entry = store.find(id);
  if (body === undefined || entry === undefined) return answer(400);
  if (entry.response !== undefined) return answer(409);
  return answer(store.complete(id, body.value, body.bytes) ? 201 : 400);
}

async function readBody<T>(
  request: Request,
  schema: z.ZodType<T>,
): Promise<{ value: T; bytes: number } | undefined> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return undefined;
  const text = await request.text();
  if (text.length > MAX_BODY_BYTES) return undefined;
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? { value: parsed.data, bytes: Buffer.byteLength(text) } : undefined;
  } catch {
    return undefined;
  }
}

function answer(status: number, body?: object): Response {
  return body === undefined
    ? new Response(null, { status, headers: cors })
    : Response.json(body, { status, headers: cors });
}
