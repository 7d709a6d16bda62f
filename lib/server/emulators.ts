/**
 * The paths of the local World ID stand-in: bridge at the origin's root (IDKit drops any path of its address), portal
 * and wallet below /dev. They don't exist if World itself is configured, nor for other machines: anyone who reaches them can
 * approve as any human.
 */

import { readBytes } from "#lib/api/http/pipeline";
import { answerProblem, toResponse } from "#lib/api/http/problem";
import { isFromThisMachine } from "#lib/api/http/rate-limit";
import type { LocalWorldId } from "#lib/emulators/world-id";
import { AppError } from "#lib/errors";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
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
