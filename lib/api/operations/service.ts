/** The service itself: public keys, health, the development mailbox. */
import { z } from "zod";
import { pubkeyResponse } from "#lib/api/schemas/keys";
import { hookQuery } from "#lib/api/schemas/mcp";
import { anyObject } from "#lib/api/schemas/primitives";
import { statementsQuery, statementsResponse } from "#lib/api/schemas/record";
import { bytesFile, textFile } from "./attestations";
import { anyone, type OperationSpec, withKey } from "./operation";

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
  sigstore_trusted_root: {
    method: "GET",
    path: "/.well-known/sigstore/trusted_root.json",
    summary: "The logs' keys as Sigstore's clients take them (TrustedRoot, media type version 0.1)",
    tag: "Service",
    auth: anyone,
    limit: "public_read",
    responses: { 200: anyObject },
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

/* The Model Context Protocol, and events of hooks: tools are in mcp.ts, and agents describe their events themselves. */

export const mcpOperations = {
  mcp: {
    method: "POST",
    path: "/mcp",
    runsInWriter: true,
    summary: "Model Context Protocol (streamable HTTP)",
    tag: "Service",
    auth: withKey(),
    limit: "keyed",
    responses: { 200: null, 202: null },
    errors: [401, 403, 413],
    internal: true,
  },
  agent_hook: {
    method: "POST",
    path: "/v1/hook",
    runsInWriter: true,
    summary: "Answer an event of a coding agent's hook of type http",
    tag: "Service",
    auth: withKey("hook", "authorize", "attest"),
    limit: "keyed",
    query: hookQuery,
    responses: { 200: null },
    errors: [401, 403, 413],
    internal: true,
  },
} as const satisfies Record<string, OperationSpec>;

/*
 * The public log (c2sp.org/tlog-tiles). Log 1 is at /log/, later logs at /log/{log}/. Neither ever moves, because
 * tiles are cached permanently.
 */

const log = {
  method: "GET",
  tag: "Log",
  auth: anyone,
  limit: "public_read",
  responses: { 200: null },
  errors: [404],
} satisfies Partial<OperationSpec>;

export const logOperations = {
  log_checkpoint: {
    ...log,
    path: "/log/checkpoint",
    summary: "The log's latest checkpoint, a signed note",
    file: textFile,
    errors: [],
  },
  log_tile: {
    ...log,
    path: "/log/tile/{path...}",
    file: bytesFile,
    summary: "A hash tile <L>/<N>[.p/<W>] or an entry bundle entries/<N>[.p/<W>]",
  },
  log_cosigned: {
    ...log,
    path: "/log/cosigned/{hash}",
    summary: "The cosigned checkpoint with this SHA-256, as an attestation names it in not_before",
    file: textFile,
  },
  log_agent_heads: {
    ...log,
    path: "/log/agent-heads/{covers_size}",
    file: bytesFile,
    summary: "The heads of all agents' records at this size of the log, 72 octets each, for 31 days",
  },
  log_list: {
    ...log,
    path: "/.well-known/log-list.json",
    file: { mediaType: "application/json", schema: anyObject },
    summary:
      "The logs that run side by side with this one, in the shape of Certificate Transparency's log list",
  },
  log_list_signature: {
    ...log,
    path: "/.well-known/log-list.sig",
    file: bytesFile,
    summary: "The Ed25519 signature over the bytes of the log list",
  },
  log_statements: {
    ...log,
    path: "/v1/log/statements",
    summary: "The service's own statements in the log: key events, new logs, snapshots of all records' heads",
    query: statementsQuery,
    responses: { 200: statementsResponse },
    errors: [],
  },
  epoch_checkpoint: {
    ...log,
    path: "/log/{log}/checkpoint",
    file: textFile,
    summary: "The latest checkpoint of a later log",
  },
  epoch_tile: {
    ...log,
    path: "/log/{log}/tile/{path...}",
    file: bytesFile,
    summary: "A tile or entry bundle of a later log",
  },
  epoch_agent_heads: {
    ...log,
    path: "/log/{log}/agent-heads/{covers_size}",
    file: bytesFile,
    summary: "The heads of all agents' records at this size of a later log",
  },
} as const satisfies Record<string, OperationSpec>;
