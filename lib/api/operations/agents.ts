/** Agents: feed and registered identity; API keys by email; what an organization reads about itself. */
import { z } from "zod";
import {
  feedQuery,
  feedResponse,
  freezeBody,
  identityResponse,
  jsonFeed,
  keyHistoryResponse,
  putToolsBody,
  putToolsResponse,
  registerBody,
  unfreezeBody,
  updateIdentityBody,
} from "#lib/api/schemas/identity";
import {
  keyDeleteResponse,
  keyInfoResponse,
  keyRequestBody,
  keyRequestResponse,
  keyVerifyBody,
  keyVerifyResponse,
} from "#lib/api/schemas/keys";
import { cursorQuery } from "#lib/api/schemas/primitives";
import { recordQuery, recordResponse } from "#lib/api/schemas/record";
import { auditQuery, auditResponse, readRosterQuery, rosterResponse } from "#lib/api/schemas/rosters";
import { scimBody, scimKinds, scimListQuery, scimPatchBody, scimPickQuery } from "#lib/api/schemas/scim";
import { anyone, type OperationSpec, withKey } from "./operation";

export const agentsOperations = {
  agentFeed: {
    method: "GET",
    path: "/v1/agent/{slug}",
    summary: "An agent's public attestations, newest first",
    tag: "Agents",
    auth: anyone,
    limit: "feed",
    query: feedQuery,
    responses: { 200: feedResponse },
    alternative: { mediaType: "application/feed+json", schema: jsonFeed },
    errors: [404],
  },
  agentRecord: {
    method: "GET",
    path: "/v1/agent/{slug}/record",
    summary: "The complete list of an agent's attestations, decisions and changes, by their hashes",
    tag: "Agents",
    auth: anyone,
    limit: "public_read",
    query: recordQuery,
    responses: { 200: recordResponse },
    errors: [404],
  },
  registerIdentity: {
    method: "POST",
    path: "/v1/identity/register",
    summary: "Register an agent, or update your own",
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
  listAgentKeys: {
    method: "GET",
    path: "/v1/identity/{slug}/keys",
    summary: "All keys an agent has had, newest first",
    tag: "Agents",
    auth: anyone,
    limit: "public_read",
    query: cursorQuery,
    responses: { 200: keyHistoryResponse },
    errors: [404],
  },
  updateIdentity: {
    method: "PATCH",
    path: "/v1/identity/{slug}",
    summary: "Update an agent's identity; omitted fields stay, null clears a field",
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
  freezeAgent: {
    method: "POST",
    path: "/v1/identity/{slug}/freeze",
    summary: "Stop an agent: no approval of it can be given, claimed or used until it is unfrozen",
    tag: "Agents",
    runsInWriter: true,
    auth: withKey(),
    limit: "keyed",
    body: freezeBody,
    responses: { 200: identityResponse },
    errors: [401, 404, 413, 422],
  },
  unfreezeAgent: {
    method: "POST",
    path: "/v1/identity/{slug}/unfreeze",
    summary: "Let a frozen agent go on",
    tag: "Agents",
    runsInWriter: true,
    auth: withKey("freeze"),
    limit: "keyed",
    body: unfreezeBody,
    responses: { 200: identityResponse },
    errors: [401, 403, 404, 413, 422],
  },
} as const satisfies Record<string, OperationSpec>;

/* People who may approve. */

export const rostersOperations = {
  readRoster: {
    method: "GET",
    path: "/v1/roster",
    summary: "Read who may approve for your organization: the newest roster, or an earlier one",
    tag: "Authorizations",
    auth: withKey("read"),
    limit: "keyed",
    query: readRosterQuery,
    responses: { 200: rosterResponse },
    errors: [401, 403],
  },
  readAudit: {
    method: "GET",
    path: "/v1/audit",
    summary: "Read your organization's audit log, newest first: who did what, when, and from where",
    tag: "Service",
    auth: withKey("audit"),
    limit: "keyed",
    query: auditQuery,
    responses: { 200: auditResponse },
    alternative: { mediaType: "application/x-ndjson", schema: z.string() },
    errors: [401, 403],
  },
} as const satisfies Record<string, OperationSpec>;

export const keysOperations = {
  requestKey: {
    method: "POST",
    path: "/v1/keys/request",
    summary: "Send a 6-digit code to an email address",
    tag: "API keys",
    auth: anyone,
    limit: "key_request",
    body: keyRequestBody,
    responses: { 200: keyRequestResponse },
    errors: [403, 413, 422],
  },
  verifyKey: {
    method: "POST",
    path: "/v1/keys/verify",
    summary: "Exchange the code for an API key, which is shown only once",
    tag: "API keys",
    auth: anyone,
    limit: "public_read",
    body: keyVerifyBody,
    responses: { 201: keyVerifyResponse },
    errors: [401, 403, 409, 413, 422],
  },
  keyInfo: {
    method: "GET",
    path: "/v1/keys/info",
    summary: "Describe the key used for this request",
    tag: "API keys",
    auth: withKey(),
    limit: "keyed",
    responses: { 200: keyInfoResponse },
    errors: [401],
  },
  deleteKey: {
    method: "DELETE",
    path: "/v1/keys",
    summary: "Delete the key used for this request; it stops working immediately",
    tag: "API keys",
    auth: withKey(),
    limit: "keyed",
    responses: { 200: keyDeleteResponse },
    errors: [401],
  },
} as const satisfies Record<string, OperationSpec>;

const common = {
  tag: "Service",
  auth: withKey("scim"),
  limit: "keyed",
  internal: true,
  isScim: true,
} as const;
/** A group of a thousand people. */
const maxBodyBytes = 256 * 1024;

const describe = (path: string, summary: string) =>
  ({
    ...common,
    method: "GET",
    path: `/scim/v2${path}`,
    summary,
    responses: { 200: null },
    errors: [],
  }) as const;

const create = (path: string, summary: string) =>
  ({
    ...common,
    method: "POST",
    path: `/scim/v2${path}`,
    summary,
    body: scimBody,
    maxBodyBytes,
    responses: { 201: null },
    errors: [409],
  }) as const;

const list = (path: string, summary: string) =>
  ({ ...describe(path, summary), query: scimListQuery }) as const;
const read = (path: string, summary: string) =>
  ({ ...describe(`${path}/{id}`, summary), query: scimPickQuery, errors: [404] }) as const;
const replace = (path: string, summary: string) =>
  ({
    ...create(`${path}/{id}`, summary),
    method: "PUT",
    responses: { 200: null },
    errors: [404, 409],
  }) as const;
const patch = (path: string, summary: string) =>
  ({ ...replace(path, summary), method: "PATCH", body: scimPatchBody }) as const;
const remove = (path: string, summary: string) =>
  ({
    ...describe(`${path}/{id}`, summary),
    method: "DELETE",
    responses: { 204: null },
    errors: [404],
  }) as const;

const { User, Group } = scimKinds;

export const scimOperations = {
  describeScim: describe("/ServiceProviderConfig", "What this service can do of SCIM 2.0"),
  listResourceTypes: describe("/ResourceTypes", "Kinds of resources"),
  readResourceType: describe("/ResourceTypes/{id}", "A kind of resources"),
  listScimSchemas: describe("/Schemas", "Schemas of resources"),
  readScimSchema: describe("/Schemas/{id}", "A schema of resources"),
  createDirectoryUser: create(User.path, "Add a person of the directory"),
  listDirectoryUsers: list(User.path, "People of the directory"),
  readDirectoryUser: read(User.path, "A person of the directory"),
  replaceDirectoryUser: replace(User.path, "Replace a person of the directory"),
  patchDirectoryUser: patch(User.path, "Change, activate or deactivate a person of the directory"),
  removeDirectoryUser: remove(User.path, "Remove a person of the directory"),
  createDirectoryGroup: create(Group.path, "Add a group of the directory"),
  listDirectoryGroups: list(Group.path, "Groups of the directory"),
  readDirectoryGroup: read(Group.path, "A group of the directory"),
  replaceDirectoryGroup: replace(Group.path, "Replace a group of the directory"),
  patchDirectoryGroup: patch(Group.path, "Change a group of the directory"),
  removeDirectoryGroup: remove(Group.path, "Remove a group of the directory"),
} as const satisfies Record<string, OperationSpec>;
