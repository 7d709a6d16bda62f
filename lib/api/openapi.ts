/** OpenAPI 3.1, made from the table of operations and the very schemas that validate. */
import { z } from "zod";
import { findExample, pathExamples, requestExamples } from "#lib/api/operations/examples";
import { type OperationId, operations } from "#lib/api/operations/index";
import { isBodyOptional, type OperationSpec } from "#lib/api/operations/operation";
import { rpcStatus } from "#lib/api/schemas/attest";
import { jsonValueSchema, problem } from "#lib/api/schemas/primitives";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";

const bearerText =
  "An API key, `cs_…`, with permissions (`scopes`): `attest`, `authorize`, `identity`, `read`, `hook`, `record`, `freeze`, `erase`, `rules`, `audit` and `scim`. Keys created by email have the first four. A key with `hook` alone is for a coding agent's hook: it asks for approvals, reads, claims, cancels and takes back its own requests, and attests what was approved in them; `record` attests without an approval. Any key can freeze an agent, and `freeze` lets it go on. Only an owner of the organization can grant `erase`, `rules` and `scim`, in the portal.";

const errorTexts: Record<number, string> = {
  400: "Bad request: not JSON, a duplicate key, nested too deeply, or an invalid header, path or query parameter",
  401: "Missing Authorization, Invalid API key or Invalid code",
  403: "Insufficient scope",
  404: "The id is unknown, or the caller can't see it",
  409: "Conflict: the current state doesn't allow it, a request with the same Idempotency-Key is in progress, or what it stored has been erased",
  413: "Payload too large: over 64 KiB, or 1 MiB for a batch or a trace",
  422: "Validation error: `errors` names each field",
  429: "Rate limit exceeded: `Retry-After` says when to try again",
  500: "Server error: the operator can find the cause in the log by `request_id`",
  503: "Service unavailable: the database or another part is unreachable or overloaded",
};

const headerTexts = {
  "Request-Id": "identifies this request in the service's log",
  "RateLimit-Policy": "the limit: quota and window (IETF draft, structured field)",
  RateLimit: "what is left of it, and for how long",
  "X-RateLimit-Limit": "the quota of the window",
  "X-RateLimit-Remaining": "what is left of it",
  "X-RateLimit-Reset": "when the window ends, in Unix seconds",
  "Retry-After": "seconds to wait",
  "Idempotency-Replayed": "`true` if this is the stored response to an earlier request",
} as const;
type HeaderName = keyof typeof headerTexts;
const limitHeaders: HeaderName[] = [
  "RateLimit-Policy",
  "RateLimit",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
];

type Components = Record<"input" | "output", Record<string, JsonValue>>;

/** An example in place of a pattern: generated clients check answers by patterns, in another language's regular expressions. */
function replacePattern({ pattern, ...rest }: JsonObject): JsonObject {
  if (typeof pattern !== "string") return pattern === undefined ? rest : { pattern, ...rest };
  const example = findExample({ ...(rest as { maxLength?: number }), pattern });
  return example === undefined ? rest : { examples: [example], ...rest };
}

/** Simplifies for generators of clients: none knows a constant that is a `number`. */
const simplify = (io: "input" | "output") => (_: string, value: JsonValue) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const isWhole = value["type"] === "number" && Number.isInteger(value["const"]);
  const part = isWhole ? { ...value, type: "integer" } : value;
  return io === "output" ? replacePattern(part) : part;
};

function convert(schema: z.ZodType, io: "input" | "output", components: Components): JsonObject {
  const made = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const {
    $defs = {},
    $schema: _,
    ...root
  } = JSON.parse(text, simplify(io)) as {
    $defs?: Record<string, JsonValue>;
    $schema: string;
  } & JsonObject;
  Object.assign(components[io], $defs);
  return root;
}

const headerRefs = (names: HeaderName[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const pathParameters: Record<string, JsonObject> = {
  id: { schema: { type: "string", format: "uuid" } },
  slug: { schema: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" } },
  request_id: { schema: { type: "string", pattern: "^areq_[A-Za-z0-9_-]{22}$" } },
  webhook_id: { schema: { type: "string", format: "uuid" } },
  message_id: { schema: { type: "string", pattern: "^msg_[0-9a-f]{32}$" } },
  hash: { schema: { type: "string", pattern: "^[0-9a-f]{64}$" } },
  log: {
    description: "the number of a later log: 2 or more",
    schema: { type: "string", pattern: "^(?:[2-9]|[1-9][0-9]{1,8})$" },
  },
  digest: {
    description: "the first 16 digits of the file's SHA-256",
    schema: { type: "string", pattern: "^[0-9a-f]{16}$" },
  },
  file: { schema: { type: "string", pattern: "^countersign[A-Za-z0-9_.-]*$" } },
  covers_size: { schema: { type: "string", pattern: "^[1-9][0-9]{0,14}$" } },
  path: {
    description:
      "the rest of the path, with its slashes: `<L>/<N>`, `entries/<N>`, either with `.p/<W>` (c2sp.org/tlog-tiles)",
    schema: {
      type: "string",
      pattern: "^(?:entries|[0-9]|[1-5][0-9]|6[0-3])/(?:x[0-9]{3}/){0,5}[0-9]{3}(?:\\.p/[1-9][0-9]{0,2})?$",
    },
  },
};

export const describedPath = ({ path }: Pick<OperationSpec, "path">): string => path.replace("...}", "}");

function describeParameters(spec: OperationSpec, components: Components): JsonObject[] {
  const inPath = [...describedPath(spec).matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...pathParameters[name],
    ...(pathExamples[name] !== undefined && { example: pathExamples[name] }),
  }));
  const query = spec.query === undefined ? null : convert(spec.query, "input", components);
  const properties = (query?.["properties"] ?? {}) as JsonObject;
  const needed = (query?.["required"] ?? []) as string[];
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    ...(needed.includes(name) && { required: true }),
    schema,
  }));
  const idempotency = {
    name: "Idempotency-Key",
    in: "header",
    description:
      "repeat the request with the same key and body to get the first response again; kept for 24 hours",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]*$" },
  };
  return [...inPath, ...inQuery, ...(spec.idempotent ? [idempotency] : [])];
}

function errorStatuses(spec: OperationSpec): number[] {
  const takesInput =
    spec.body !== undefined ||
    spec.payload !== undefined ||
    spec.query !== undefined ||
    spec.path.includes("{");
  const common = [...(takesInput ? [400] : []), ...(spec.limit === null ? [] : [429]), 500, 503];
  return [...new Set([...spec.errors, ...common])].sort((a, b) => a - b);
}

function describeErrors(spec: OperationSpec): JsonObject {
  const answers = errorStatuses(spec).map((status) => {
    const hasLimit = spec.limit !== null && ![401, 403, 500].includes(status);
    const saysWhen = status === 429 || status === 503 || (status === 409 && spec.idempotent !== undefined);
    const retry: HeaderName[] = saysWhen ? ["Retry-After"] : [];
    const headers = headerRefs(["Request-Id", ...(hasLimit && status === 429 ? limitHeaders : []), ...retry]);
    const problems = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
    const content =
      spec.payload === "otlp" ? inBothEncodings({ $ref: "#/components/schemas/RpcStatus" }) : problems;
    return [status, { description: errorTexts[status] ?? "", headers, content }];
  });
  return Object.fromEntries(answers) as JsonObject;
}

/** OTLP's answers are in the encoding of their requests. */
const inBothEncodings = (schema: JsonValue, example?: JsonValue): JsonObject => ({
  "application/json": { schema, ...(example && { example }) },
  "application/x-protobuf": { schema: { type: "string", format: "binary" } },
});

const anything = { mediaType: "*/*", schema: z.unknown() };

function describeSuccess(spec: OperationSpec, components: Components): JsonObject {
  const headers = headerRefs([
    "Request-Id",
    ...(spec.limit === null ? [] : limitHeaders),
    ...(spec.idempotent === true ? (["Idempotency-Replayed"] as const) : []),
  ]);
  const answers = Object.entries(spec.responses).map(([status, schema]) => {
    const { mediaType, schema: shape } =
      schema === null ? (spec.file ?? anything) : { mediaType: "application/json", schema };
    const answered = convert(shape, "output", components);
    const content: JsonObject =
      spec.payload === "otlp" ? inBothEncodings(answered) : { [mediaType]: { schema: answered } };
    const { alternative: other } = spec;
    if (other) content[other.mediaType] = { schema: convert(other.schema, "output", components) };
    return [status, { description: spec.summary, headers, content }];
  });
  return Object.fromEntries(answers) as JsonObject;
}

const nameScopes = (scopes: readonly string[]) => scopes.map((scope) => `\`${scope}\``).join(" or ");

function describeOperation(id: OperationId, spec: OperationSpec, components: Components): JsonObject {
  const example = requestExamples[id];
  const body = spec.body === undefined ? null : convert(spec.body, "input", components);
  const security: JsonValue[] = spec.auth.kind === "none" ? [] : [{ bearer: [] }];
  return {
    operationId: id,
    summary: spec.summary,
    tags: [spec.tag],
    ...(spec.auth.kind === "key" &&
      spec.auth.scopes.length > 0 && {
        description: `Requires a key with the permission ${nameScopes(spec.auth.scopes)}.`,
      }),
    ...(spec.alternative && {
      description: `If \`Accept\` names \`${spec.alternative.mediaType}\`, the response is of that type.`,
    }),
    ...(spec.auth.kind === "optional" && {
      description: `The owner's key with the permission ${nameScopes(spec.auth.scopes)} shows more.`,
    }),
    security: spec.auth.kind === "optional" ? [{}, ...security] : security,
    parameters: describeParameters(spec, components),
    ...(spec.payload === "otlp" && {
      requestBody: { required: true, content: inBothEncodings({ type: "object" }, example) },
    }),
    ...(body && {
      requestBody: {
        required: !isBodyOptional(spec),
        content: { "application/json": { schema: body, ...(example && { example }) } },
      },
    }),
    responses: { ...describeSuccess(spec, components), ...describeErrors(spec) },
  };
}

const built = new Map<string, JsonObject>();

/**
 * `base` without a trailing slash. Made once for each: it takes a tenth of a second, of the thread that answers requests.
 * The result is shared: do not change it.
 */
export function buildOpenApi(base: string): JsonObject {
  const known = built.get(base) ?? composeDocument(base);
  built.set(base, known);
  return known;
}

function composeDocument(base: string): JsonObject {
  const components: Components = { input: { JsonValue: jsonValueSchema }, output: {} };
  const paths: Record<string, JsonObject> = {};
  convert(problem, "output", components);
  convert(rpcStatus, "output", components);
  for (const [id, spec] of Object.entries(operations) as [OperationId, OperationSpec][]) {
    if (spec.internal) continue;
    const path = describedPath(spec);
    paths[path] = { ...paths[path], [spec.method.toLowerCase()]: describeOperation(id, spec, components) };
  }
  const headers = Object.fromEntries(
    Object.entries(headerTexts).map(([name, description]) => [
      name,
      { description, schema: { type: "string" } },
    ]),
  );
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "Countersign",
      version: "1",
      summary:
        "Signed, publicly verifiable attestations of what software agents did, and proof that a human approved it",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: base }],
    tags: ["Attestations", "Agents", "Authorizations", "Rules", "API keys", "Webhooks", "Log", "Service"].map(
      (name) => ({
        name,
      }),
    ),
    paths,
    components: {
      // A request is checked by its patterns, also where an answer repeats it.
      schemas: { ...components.output, ...components.input },
      headers,
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: bearerText } },
    },
  };
}
