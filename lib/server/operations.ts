/** Binds the table of operations to the services, and finds the operation of a request. */

import { addCommonHeaders } from "#lib/api/http/common-headers";
import type { HttpContext } from "#lib/api/http/context";
import {
  createHandler,
  type Handler,
  type Handlers,
  isForEveryone,
  type Params,
} from "#lib/api/http/pipeline";
import { answerProblem, type HttpRequest, type HttpResponse, toResponse } from "#lib/api/http/problem";
import { buildOpenApi } from "#lib/api/openapi";
import { type OperationId, operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import type { serviceOperations as specs } from "#lib/api/operations/service";
import { AppError } from "#lib/errors";
import { logHandlers } from "#lib/log/routes";
import { httpRequestId } from "#lib/protocol/encoding/bytes";
import { rostersHandlers } from "#lib/services/accounts/audit-list";
import { agentsHandlers } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import { authorizationsHandlers, replayHydrators } from "#lib/services/approvals/routes";
import { presentationsHandlers } from "#lib/services/attestations/presentations";
import { attestationsHandlers } from "#lib/services/attestations/routes";
import { directoryHandlers } from "#lib/services/directory/routes";
import { keysHandlers } from "#lib/services/keys/routes";
import { createMcpHandlers } from "#lib/services/mcp/routes";
import { mailHandlers } from "#lib/services/notifications/mailbox";
import { rulesHandlers } from "#lib/services/policies/read";
import { webhooksHandlers } from "#lib/services/webhooks/deliveries";
import { getApp } from "./singleton";

/* Runs the operations of lib/api/operations/service.ts that are about the service as a whole. */

const serviceHandlers: Handlers<Pick<typeof specs, "openapi" | "health">, HttpContext> = {
  openapi: async ({ context }) => ({
    body: buildOpenApi(context.settings.baseUrl),
    headers: { "cache-control": "public, max-age=60" },
  }),
  health: async ({ context }) => {
    if (context.leaving.hasBegun)
      throw new AppError("service_unavailable", "this server is about to stop; ask another one");
    await context.health.check();
    return { body: { status: "ok", database: context.database.kind, time: context.clock().toISOString() } };
  },
};

const handlers: Handlers<typeof operations, Context> = {
  ...attestationsHandlers,
  ...agentsHandlers,
  ...authorizationsHandlers,
  ...directoryHandlers,
  ...keysHandlers,
  ...logHandlers,
  ...mailHandlers,
  ...createMcpHandlers(handleRequest),
  ...presentationsHandlers,
  ...rostersHandlers,
  ...rulesHandlers,
  ...serviceHandlers,
  ...webhooksHandlers,
};

interface Route {
  id: OperationId;
  method: string;
  path: string;
  isPattern: boolean;
  pattern: RegExp;
  handler: Handler;
  isPublic: boolean;
  runsInWriter: boolean;
}

function toPattern(path: string): RegExp {
  const source = path
    .replaceAll(".", "\\.")
    .replaceAll(/\{(\w+)\\\.\\\.\\\.\}/g, "(?<$1>.+)")
    .replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return new RegExp(`^${source}$`);
}

function bind<Id extends OperationId>(id: Id): Route {
  const spec: (typeof operations)[Id] = operations[id];
  const { runsInWriter = false }: OperationSpec = spec;
  return {
    id,
    method: spec.method,
    path: spec.path,
    isPattern: spec.path.includes("{"),
    pattern: toPattern(spec.path),
    handler: createHandler(getApp, spec, handlers[id], replayHydrators[id]),
    isPublic: isForEveryone(spec),
    runsInWriter,
  };
}

const routes = (Object.keys(operations) as OperationId[]).map((id) => bind(id));

function decodeParams(groups: Record<string, string> = {}): Params {
  const params: Params = {};
  for (const name in groups) params[name] = decodeURIComponent(groups[name] ?? "");
  return params;
}

/** The answer to what no operation takes, in the shape of theirs. */
export async function refuse(error: AppError, path = ""): Promise<HttpResponse> {
  const { context, env } = await getApp();
  const requestId = httpRequestId(context.random(12));
  const answer = answerProblem(error, env.baseUrl, requestId, context.logger, path.startsWith("/scim/"));
  return addCommonHeaders(answer, env, requestId, true);
}

/** Answers a browser's preflight. Keys are for servers: no origin may send one. */
async function answerOptions(matching: readonly Route[]): Promise<HttpResponse> {
  const { context, env } = await getApp();
  const isPublic = matching.some(({ isPublic }) => isPublic);
  const headers = {
    allow: allowedMethods(matching),
    ...(isPublic && { "access-control-allow-methods": "GET, HEAD", "access-control-max-age": "86400" }),
  };
  return addCommonHeaders(
    { status: 204, headers, text: null },
    env,
    httpRequestId(context.random(12)),
    isPublic,
  );
}

export function answerServerOptions(): Promise<HttpResponse> {
  return answerOptions(routes);
}

function allowedMethods(matching: readonly Route[]): string {
  const methods = matching.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set([...methods, "OPTIONS"])].join(", ");
}

/** A doubled slash reaches the same route. */
export function normalizePath(pathname: string): string {
  if (!pathname.includes("//") && !pathname.endsWith("/")) return pathname;
  return pathname.replaceAll(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

async function answerRoute(
  route: Route,
  request: HttpRequest,
  path: string,
): Promise<HttpResponse | Response> {
  let params: Params = {};
  if (route.isPattern) {
    try {
      params = decodeParams(route.pattern.exec(path)?.groups);
    } catch {
      return refuse(new AppError("bad_request", "the path is malformed"), path);
    }
  }
  const answer = await route.handler(request, params);
  if (request.method !== "HEAD") return answer;
  return answer instanceof Response
    ? new Response(null, { status: answer.status, headers: answer.headers })
    : { ...answer, text: null };
}

/** Patterns with what comes before the first parameter, by which most are told apart. */
const patterns = routes
  .filter(({ isPattern }) => isPattern)
  .map((route) => ({ route, start: route.path.slice(0, route.path.indexOf("{")) }));
const byPath = new Map(
  routes
    .filter(({ isPattern }) => !isPattern)
    .map(({ path }) => [path, routes.filter(({ pattern }) => pattern.test(path))]),
);

const findMatching = (path: string): readonly Route[] =>
  byPath.get(path) ??
  patterns
    .filter(({ start, route }) => path.startsWith(start) && route.pattern.test(path))
    .map(({ route }) => route);

/** An address in which a URL's parser would change nothing. */
const plainUrl = /^https?:\/\/[^/]+((?:\/[\w~-]+)+)$/;

const readPath = ({ url }: HttpRequest) => plainUrl.exec(url)?.[1] ?? normalizePath(new URL(url).pathname);

/** Answers a request of the table; 404 and 405 in the same shape for what is not in it. */
export async function handleRequest(request: HttpRequest): Promise<HttpResponse | Response> {
  const path = readPath(request);
  const matching = findMatching(path);
  const method = request.method === "HEAD" ? "GET" : request.method;
  const route = matching.find((candidate) => candidate.method === method);
  if (route) return answerRoute(route, request, path);
  if (matching.length === 0) return refuse(new AppError("not_found", "nothing exists at this path"), path);
  if (request.method === "OPTIONS") return answerOptions(matching);
  const allow = allowedMethods(matching);
  return refuse(
    new AppError("method_not_allowed", `this path accepts ${allow}`, { headers: { allow } }),
    path,
  );
}

export const dispatch = async (request: Request): Promise<Response> =>
  toResponse(await handleRequest(request));

export function findHandler(id: OperationId): (request: Request) => Promise<Response> {
  const route = routes.find((candidate) => candidate.id === id);
  if (!route) throw new Error(`no operation ${id}`);
  return async (request) => toResponse(await answerRoute(route, request, readPath(request)));
}

const firstSegment = (path: string) => path.slice(0, path.indexOf("/", 1) + 1);

/** `/v1/` and `/log/`: below the first segment of several public operations nothing is a page. */
const ownSegments = new Set(
  Object.values(operations)
    .filter((spec: OperationSpec) => spec.internal !== true || spec.isScim === true)
    .map(({ path }) => firstSegment(path))
    .filter((segment, at, all) => segment !== "" && all.indexOf(segment) !== at),
);

const routesInWriter = routes.filter((route) => route.runsInWriter);

export function runsInWriter(method: string | undefined, path: string): boolean {
  return routesInWriter.some((route) => route.method === method && route.pattern.test(path));
}

/** True if the table answers this path, be it with 404; everything else is a page's. */
export function isOperationPath(path: string): boolean {
  return ownSegments.has(firstSegment(`${path}/`)) || findMatching(path).length > 0;
}
