/** The service itself: public keys, health, the development mailbox. */
import { z } from "zod";
import { pubkeyResponse } from "#lib/api/schemas/keys";
import { anyObject } from "#lib/api/schemas/primitives";
import { anyone, type OperationSpec } from "./operation";

export const serviceOperations = {
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
    summary: "The public keys as a JSON Web Key Set",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: z.strictObject({ keys: z.array(anyObject) }) },
    errors: [],
  },
  openapi: {
    method: "GET",
    path: "/v1/openapi.json",
    summary: "This OpenAPI document",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: anyObject },
    errors: [],
  },
  health: {
    method: "GET",
    path: "/v1/health",
    summary: "Check that the service is up and can store attestations",
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
    summary: "List mail that would have been sent",
    tag: "Service",
    auth: anyone,
    limit: null,
    responses: { 200: z.strictObject({ messages: z.array(anyObject) }) },
    errors: [404],
    internal: true,
    onlyFromThisMachine: true,
  },
} as const satisfies Record<string, OperationSpec>;
