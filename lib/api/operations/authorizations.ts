/** Authorization requests: created and read by agents, decided by humans on the approval page. */
import {
  authorizationList,
  authorizationState,
  authorizeResponse,
  evaluationBody,
  evaluationResponse,
} from "#lib/api/schemas/authorization-state";
import {
  answerBody,
  authorizeBody,
  authorizeQuery,
  claimBody,
  listAuthorizationsQuery,
  readAuthorizationQuery,
  revokeBody,
} from "#lib/api/schemas/authorize";
import {
  putRulesBody,
  readRulesQuery,
  rulesResponse,
  simulateBody,
  simulateResponse,
} from "#lib/api/schemas/rules";
import { anyone, type OperationSpec, withKey } from "./operation";

/** Sent by the approval page, whose address lets its holder act. */
const fromPage = {
  method: "POST",
  tag: "Authorizations",
  auth: anyone,
  limit: "approve",
  responses: { 200: null },
  errors: [403, 404, 409, 413, 422],
  internal: true,
} as const;

export const authorizationsOperations = {
  authorize: {
    method: "POST",
    path: "/v1/authorize",
    summary: "Request a human's approval of an action",
    tag: "Authorizations",
    auth: withKey("authorize", "hook"),
    limit: "authorize",
    query: authorizeQuery,
    body: authorizeBody,
    idempotent: true,
    responses: { 201: authorizeResponse },
    errors: [401, 403, 409, 413, 422],
  },
  readAuthorization: {
    method: "GET",
    path: "/v1/authorize/{request_id}",
    summary: "Read an authorization request; ?wait=25 holds the response until it is decided",
    tag: "Authorizations",
    auth: { kind: "optional", scopes: ["read", "hook"] },
    limit: "read_authorization",
    query: readAuthorizationQuery,
    responses: { 200: authorizationState },
    errors: [404],
  },
  evaluateAccess: {
    method: "POST",
    path: "/access/v1/evaluation",
    summary:
      "Ask what rules and standing approvals would decide, without a request (OpenID AuthZEN; experimental)",
    tag: "Authorizations",
    auth: withKey("authorize"),
    limit: "keyed",
    body: evaluationBody,
    responses: { 200: evaluationResponse },
    errors: [401, 403, 413, 422],
  },
  claimAuthorization: {
    method: "POST",
    path: "/v1/authorize/{request_id}/claim",
    summary: "Claim an approval for one run of its action",
    tag: "Authorizations",
    auth: withKey("authorize", "hook"),
    limit: "keyed",
    body: claimBody,
    responses: { 200: authorizationState },
    errors: [401, 403, 404, 409, 413, 422],
  },
  answerQuestion: {
    method: "POST",
    path: "/v1/authorize/{request_id}/answer",
    summary: "Answer an approver's question about a pending request",
    tag: "Authorizations",
    auth: withKey("authorize", "hook"),
    limit: "keyed",
    body: answerBody,
    responses: { 200: authorizationState },
    errors: [401, 403, 404, 409, 413, 422],
  },
  cancelAuthorization: {
    method: "DELETE",
    path: "/v1/authorize/{request_id}",
    summary: "Cancel a pending authorization request",
    tag: "Authorizations",
    runsInWriter: true,
    auth: withKey("authorize", "hook"),
    limit: "keyed",
    responses: { 200: authorizationState },
    errors: [401, 403, 404, 409],
  },
  listAuthorizations: {
    method: "GET",
    path: "/v1/authorizations",
    summary: "List your authorization requests, newest first",
    tag: "Authorizations",
    auth: withKey("read"),
    limit: "keyed",
    query: listAuthorizationsQuery,
    responses: { 200: authorizationList },
    errors: [401, 403],
  },
  revokeAuthorization: {
    method: "POST",
    path: "/v1/authorizations/{request_id}/revoke",
    summary: "Take back an approval that no attestation has used",
    tag: "Authorizations",
    runsInWriter: true,
    auth: withKey("authorize", "hook"),
    limit: "keyed",
    body: revokeBody,
    responses: { 200: authorizationState },
    errors: [401, 403, 404, 409, 413, 422],
  },
  startWorldId: {
    ...fromPage,
    path: "/approve/{token}/world-id",
    summary: "Get an RP signature for the approval page's World ID request",
  },
  submitProof: {
    ...fromPage,
    path: "/approve/{token}/proof",
    summary: "Submit the proof that the approval page got from World ID",
    runsInWriter: true,
  },
  approveByPasskey: {
    ...fromPage,
    path: "/approve/{token}/passkey",
    summary: "Approve as an enrolled approver",
    runsInWriter: true,
  },
  lookAt: {
    ...fromPage,
    path: "/approve/{token}/look",
    summary: "Say that somebody is looking at the request",
    errors: [403, 404, 409],
  },
  approveList: {
    ...fromPage,
    path: "/approve/list",
    summary: "Approve several equal requests as an enrolled approver, by one signature",
    runsInWriter: true,
  },
  amendAuthorization: {
    ...fromPage,
    path: "/approve/{token}/amend",
    summary: "Change what the agent allows to be changed: a new request takes the place of this one",
    runsInWriter: true,
  },
  askQuestion: {
    ...fromPage,
    path: "/approve/{token}/ask",
    summary: "Ask the agent or its organization something",
  },
  denyAuthorization: {
    ...fromPage,
    path: "/approve/{token}/deny",
    summary: "Deny a request, as JSON or from a form",
    runsInWriter: true,
    responses: { 200: null, 303: null },
  },
  revokeByLink: {
    ...fromPage,
    path: "/approve/{token}/revoke",
    summary: "Take back what was approved",
    runsInWriter: true,
    responses: { 200: null, 303: null },
  },
} as const satisfies Record<string, OperationSpec>;

/* Rules: who may act without asking, and what people are asked for. */

const rules = { tag: "Rules", auth: withKey("rules"), limit: "keyed" } as const;

export const rulesOperations = {
  readRules: {
    method: "GET",
    path: "/v1/rules",
    summary: "Read your organization's rules, and their versions",
    ...rules,
    query: readRulesQuery,
    responses: { 200: rulesResponse },
    errors: [401, 403, 404],
  },
  putRules: {
    method: "PUT",
    path: "/v1/rules",
    summary: "Replace your organization's rules, or propose a change if that needs a second owner",
    ...rules,
    body: putRulesBody,
    responses: { 200: rulesResponse },
    errors: [401, 403, 409, 413, 422],
  },
  simulateRules: {
    method: "POST",
    path: "/v1/rules/simulate",
    summary: "What other rules would have changed: your last 1,000 requests, evaluated again",
    ...rules,
    body: simulateBody,
    responses: { 200: simulateResponse },
    errors: [401, 403, 413, 422],
  },
} as const satisfies Record<string, OperationSpec>;
