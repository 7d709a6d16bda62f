/** API keys by e-mail. */
import {
  keyDeleteResponse,
  keyInfoResponse,
  keyRequestBody,
  keyRequestResponse,
  keyVerifyBody,
  keyVerifyResponse,
} from "./keys";
import { anyone, type OperationSpec, withKey } from "./operation";

export const keysOperations = {
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
    errors: [401, 409, 413, 422],
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
} as const satisfies Record<string, OperationSpec>;
