/**
 * The paths of the local World ID stand-in: bridge at the origin's root (IDKit drops any path of its address), portal
 * and wallet below /dev. They don't exist if World itself is configured, nor for other machines: anyone who reaches them can
 * approve as any human.
 */

import { readBytes } from "#lib/api/http/pipeline";
import { answerProblem, toResponse } from "#lib/api/http/problem";
import { isFromThisMachine } from "#lib/api/http/rate-limit";
import type { LocalWorldId } from "#lib/emulators/world-id";
import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import type { SecretFiles } from "#lib/log/signing/first-keys";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
import { createWorldChain } from "#lib/services/approvals/world-id/chain";
import { createPortalProvider } from "#lib/services/approvals/world-id/portal";
import {
  createNoWorldId,
  readV4VerifyingKey,
  type WorldIdProvider,
} from "#lib/services/approvals/world-id/provider";
import { getApp } from "./singleton";

type Answer = (request: Request, params: { id: string }) => Promise<Response>;

interface StandInRoute {
  pattern: RegExp;
  methods: (world: LocalWorldId) => Record<string, Answer>;
}

const bridgeId = "(?<id>[^/]+)";

const routes: StandInRoute[] = [
  {
    pattern: /^\/request$/,
    methods: ({ bridge }) => ({ POST: bridge.createRequest, OPTIONS: bridge.preflight }),
  },
  {
    pattern: new RegExp(`^/request/${bridgeId}$`),
    methods: ({ bridge }) => ({
      GET: bridge.takeRequest,
      HEAD: bridge.hasRequest,
      OPTIONS: bridge.preflight,
    }),
  },
  {
    pattern: new RegExp(`^/response/${bridgeId}$`),
    methods: ({ bridge }) => ({
      GET: bridge.takeResponse,
      PUT: bridge.putResponse,
      OPTIONS: bridge.preflight,
    }),
  },
  {
    pattern: new RegExp(`^/dev/world-portal/api/v4/verify/${bridgeId}$`),
    methods: ({ portal }) => ({ POST: portal }),
  },
  { pattern: /^\/dev\/world-app\/api\/request$/, methods: ({ worldApp }) => ({ GET: worldApp.readRequest }) },
  {
    pattern: /^\/dev\/world-app\/api\/response$/,
    methods: ({ worldApp }) => ({ POST: worldApp.sendResponse }),
  },
];

export function isStandInPath(path: string): boolean {
  return routes.some(({ pattern }) => pattern.test(path));
}

function decodeId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch (cause) {
    throw new AppError("bad_request", "the path is malformed", { cause });
  }
}

async function bound(request: Request): Promise<Request> {
  if (request.body === null) return request;
  const { url, method, headers } = request;
  const body = await readBytes(request);
  return new Request(url, { method, headers, body: new Uint8Array(body) });
}

async function answer(world: LocalWorldId | null, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const route = routes.find(({ pattern }) => pattern.test(pathname));
  if (world === null || route === undefined) throw new AppError("not_found", "nothing exists at this path");
  const methods = route.methods(world);
  const run = methods[request.method];
  if (run === undefined) {
    const allow = Object.keys(methods).join(", ");
    throw new AppError("method_not_allowed", `this path accepts ${allow}`, { headers: { allow } });
  }
  return run(await bound(request), { id: decodeId(route.pattern.exec(pathname)?.groups?.["id"] ?? "") });
}

export async function serveStandIn(request: Request): Promise<Response> {
  const { context, env, peerSecret, localWorldId } = await getApp();
  const world = isFromThisMachine(request, peerSecret, env) ? localWorldId : null;
  return answer(world, request).catch((error: unknown) =>
    toResponse(answerProblem(error, env.baseUrl, httpRequestId(context.random(12)), context.logger)),
  );
}

interface OpenedWorldId {
  provider: WorldIdProvider;
  local: LocalWorldId | null;
}

const localKeyFile = "local-rp-signing-key";

async function readLocalRpKey(files: SecretFiles, random: (length: number) => Uint8Array): Promise<string> {
  const kept = await files.read(localKeyFile);
  if (kept !== null) return kept;
  // Not below secp256k1's order with a chance of 2^-128.
  const made = Buffer.from(random(32)).toString("hex");
  try {
    await files.create(localKeyFile, made);
    return made;
  } catch (error) {
    // Another process that starts now was faster.
    const theirs = await files.read(localKeyFile);
    if (theirs === null) throw error;
    return theirs;
  }
}

export async function openWorldId(
  env: Env,
  files: SecretFiles,
  random: (length: number) => Uint8Array,
): Promise<OpenedWorldId> {
  if (env.worldId === "none") return { provider: createNoWorldId(env.baseUrl), local: null };
  const { WORLD_APP_ID: appId, WORLD_RP_ID: rpId, WORLD_RP_SIGNING_KEY: rpSigningKeyHex } = env;
  if (appId === undefined || rpId === undefined || rpSigningKeyHex === undefined) {
    const { createLocalWorldId } = await import("#lib/emulators/world-id");
    const rpKey = await readLocalRpKey(files, random);
    const local = createLocalWorldId({ baseUrl: env.baseUrl, rpSigningKeyHex: rpKey });
    return { provider: local.provider, local };
  }
  const v4Key = env.WORLD_ID_V4_VERIFYING_KEY;
  const rpcUrl = env.WORLD_CHAIN_RPC_URL;
  const provider = createPortalProvider({
    environment: env.WORLD_ENVIRONMENT,
    idkitConfig: { app_id: appId as `app_${string}`, environment: env.WORLD_ENVIRONMENT },
    rpId,
    rpSigningKeyHex,
    portalUrl: env.WORLD_PORTAL_URL.replace(/\/+$/, ""),
    ...(v4Key === undefined ? {} : { v4KeyJson: await readV4VerifyingKey(v4Key) }),
    ...(rpcUrl === undefined ? {} : { chain: createWorldChain({ rpcUrl }) }),
  });
  return { provider, local: null };
}
