/** Agents: feed and registered identity (api.md sections 5 and 11). */
import {
  feedResponse,
  identityResponse,
  putToolsBody,
  putToolsResponse,
  registerBody,
  updateIdentityBody,
} from "./identity";
import { anyone, type OperationSpec, withKey } from "./operation";
import { cursorQuery } from "./primitives";

export const agentsOperations = {
  agentFeed: {
    method: "GET",
    path: "/v1/agent/{slug}",
    summary: "An agent's public attestations, newest first",
    tag: "Agents",
    auth: anyone,
    limit: "feed",
    query: cursorQuery,
    responses: { 200: feedResponse },
    errors: [404],
  },
  registerIdentity: {
    method: "POST",
    path: "/v1/identity/register",
    summary: "Register an agent, or update one's own",
    tag: "Agents",
    auth: withKey("identity"),
    limit: "keyed",
    body: registerBody,
    responses: { 201: identityResponse, 200: identityResponse },
    errors: [401, 403, 413, 422],
  },
  readIdentity: {
    method: "GET",
    path: "/v1/identity/{slug}",
    summary: "An agent's registered identity",
    tag: "Agents",
    auth: anyone,
    limit: "public_read",
    responses: { 200: identityResponse },
    errors: [404],
  },
  updateIdentity: {
    method: "PATCH",
    path: "/v1/identity/{slug}",
    summary: "Change an agent's identity; a field left out stays, null clears it",
    tag: "Agents",
    auth: withKey("identity"),
    limit: "keyed",
    body: updateIdentityBody,
    responses: { 200: identityResponse },
    errors: [401, 403, 404, 413, 422],
  },
  putTools: {
    method: "PUT",
    path: "/v1/identity/{slug}/tools",
    summary: "Replace an agent's tool manifest",
    tag: "Agents",
    auth: withKey("identity"),
    limit: "keyed",
    body: putToolsBody,
    responses: { 200: putToolsResponse },
    errors: [401, 403, 404, 413, 422],
  },
} as const satisfies Record<string, OperationSpec>;
