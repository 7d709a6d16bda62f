/** API keys by email. */
import {
  keyDeleteResponse,
  keyInfoResponse,
  keyRequestBody,
  keyRequestResponse,
  keyVerifyBody,
  keyVerifyResponse,
} from "#lib/api/schemas/keys";
import { anyone, type OperationSpec, withKey } from "./operation";

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
