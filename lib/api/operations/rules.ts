/** Rules: who may act without asking, and what people are asked for. */

import {
  putRulesBody,
  readRulesQuery,
  rulesResponse,
  simulateBody,
  simulateResponse,
} from "#lib/api/schemas/rules";
import { type OperationSpec, withKey } from "./operation";

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
