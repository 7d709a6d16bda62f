/**
 * The one table of operations: method, path, who may call, which limit, what goes in and what comes out.
 * Validation, dispatch and the OpenAPI document are all made from it.
 */
import { z } from "zod";
import { attestBody, attestResponse } from "./attest";
import {
  feedResponse,
  identityResponse,
  putToolsBody,
  putToolsResponse,
  registerBody,
  updateIdentityBody,
} from "./identity";
import {
  keyDeleteResponse,
  keyInfoResponse,
  keyRequestBody,
  keyRequestResponse,
  keyVerifyBody,
  keyVerifyResponse,
  pubkeyResponse,
} from "./keys";
import { anyObject, cursorQuery, type Scope } from "./primitives";
import { verifyResponse } from "./verify";

export type LimitName =
  | "attest"
  | "verify"
  | "feed"
  | "authorize"
  | "read_authorization"
  | "key_request"
  | "public_read"
  | "keyed";

/** `key`: needed, with the scope. `optional`: the owner's key shows more. `none`: not looked at. */
export type Auth = { kind: "key"; scope: Scope | null } | { kind: "optional" } | { kind: "none" };

export interface OperationSpec {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `{name}` stands for one segment, `{name...}` for the rest of the path. */
  path: string;
  summary: string;
  tag: "Attestations" | "Agents" | "Authorizations" | "API keys" | "Log" | "Service";
  auth: Auth;
  limit: LimitName | null;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Takes an Idempotency-Key. */
  idempotent?: boolean;
  /** By success status; null for what is not JSON. */
  responses: Record<number, z.ZodType | null>;
  /** Error statuses besides 400, 429, 500 and 503, which every operation may answer. */
  errors: number[];
  /** Not part of the public contract (development only). */
  internal?: boolean;
}

const withKey = (scope: Scope | null): Auth => ({ kind: "key", scope });
const anyone: Auth = { kind: "none" };
const ownerSeesMore: Auth = { kind: "optional" };

export const operations = {
  attest: {
    method: "POST",
    path: "/v1/attest",
    summary: "Record an agent's action as a signed, logged attestation",
    tag: "Attestations",
    auth: withKey("attest"),
    limit: "attest",
    body: attestBody,
    idempotent: true,
    responses: { 201: attestResponse },
    errors: [401, 403, 409, 413, 422],
  },
  verify: {
    method: "GET",
    path: "/v1/verify/{id}",
    summary: "Verify an attestation again from its stored bytes",
    tag: "Attestations",
    auth: ownerSeesMore,
    limit: "verify",
    responses: { 200: verifyResponse },
    errors: [401, 404],
  },
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
  pubkey: {
    method: "GET",
    path: "/v1/pubkey",
    summary: "The service's public keys",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: pubkeyResponse },
    errors: [],
  },
  jwks: {
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "The same keys as a JSON Web Key Set",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: z.strictObject({ keys: z.array(anyObject) }) },
    errors: [],
  },
  requestKey: {
    method: "POST",
    path: "/v1/keys/request",
    summary: "Have a 6-digit code sent to an e-mail address",
    tag: "API keys",
    auth: anyone,
    limit: "key_request",
    body: keyRequestBody,
    responses: { 200: keyRequestResponse },
    errors: [413, 422],
  },
  verifyKey: {
    method: "POST",
    path: "/v1/keys/verify",
    summary: "Exchange the code for an API key, shown this once",
    tag: "API keys",
    auth: anyone,
    limit: "public_read",
    body: keyVerifyBody,
    responses: { 201: keyVerifyResponse },
    errors: [401, 413, 422],
  },
  keyInfo: {
    method: "GET",
    path: "/v1/keys/info",
    summary: "The key that is asking",
    tag: "API keys",
    auth: withKey(null),
    limit: "keyed",
    responses: { 200: keyInfoResponse },
    errors: [401],
  },
  deleteKey: {
    method: "DELETE",
    path: "/v1/keys",
    summary: "Delete the key that is asking; it is refused at once",
    tag: "API keys",
    auth: withKey(null),
    limit: "keyed",
    responses: { 200: keyDeleteResponse },
    errors: [401],
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
  health: {
    method: "GET",
    path: "/v1/health",
    summary: "Liveness and database",
    tag: "Service",
    auth: anyone,
    limit: null,
    responses: {
      200: z.strictObject({
        status: z.literal("ok"),
        database: z.enum(["embedded", "postgres"]),
        time: z.string(),
      }),
    },
    errors: [],
  },
  mailbox: {
    method: "GET",
    path: "/dev/mailbox",
    summary: "Mail that would have been sent",
    tag: "Service",
    auth: anyone,
    limit: null,
    responses: { 200: z.strictObject({ messages: z.array(anyObject) }) },
    errors: [404],
    internal: true,
  },
} as const satisfies Record<string, OperationSpec>;

export type OperationId = keyof typeof operations;
