/**
 * The OpenAPI document is as strict as the service: its schemas refuse what the service refuses by 422, and no more. Rules
 * between fields and at any depth are said in words: generators of clients read no schema of them.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { parseStrictObject } from "#lib/api/http/pipeline";
import { buildOpenApi, describedPath } from "#lib/api/openapi";
import { requestExamples } from "#lib/api/operations/examples";
import { type OperationId, operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { encodePublicKeyPem } from "#lib/protocol/keys/ed25519";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const all = Object.entries(operations) as [OperationId, OperationSpec][];
const documented = all.filter(([, { internal }]) => !internal);
const withBody = documented.filter(([, { body }]) => body !== undefined);

// biome-ignore lint/suspicious/noExplicitAny: the document is read freely
const document = buildOpenApi("http://localhost:3000") as any;
const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
ajv.addSchema(document, "openapi");
const validators = new Map<string, ValidateFunction>();

function getValidator(pointer: string): ValidateFunction {
  const validate = validators.get(pointer) ?? ajv.getSchema(`openapi#${encodeURI(pointer)}`);
  if (validate === undefined) throw new Error(`nothing at ${pointer}`);
  validators.set(pointer, validate);
  return validate;
}

const isDescribed = (id: OperationId, body: JsonValue): boolean => {
  const spec: OperationSpec = operations[id];
  const path = describedPath(spec).replaceAll("/", "~1");
  const pointer = `/paths/${path}/${spec.method.toLowerCase()}/requestBody/content/application~1json/schema`;
  return getValidator(pointer)(body) === true;
};

const publicKey = ed25519.getPublicKey(new Uint8Array(32).fill(5));
const rawKey = Buffer.from(publicKey).toString("base64");
const pem = encodePublicKeyPem(publicKey);
const tools = ["b", "a"];
const long = (length: number) => "🂡".repeat(length);

/** Invalid fields by operation, each put into its example by itself. */
const refused: [OperationId, JsonObject[]][] = [
  [
    "attest",
    [
      { action: "a\0b" },
      { action: "" },
      { action: long(1001) },
      { model_id: "\0" },
      { tools_used: ["a", "b\0"] },
      { metadata: { "a\0": 1 } },
      { metadata: [] },
      { inputs_hash: "ä" },
      { agent_slug: "-x" },
      { agent_signature: `${"A".repeat(85)}B==` },
      { typo: 1 },
    ],
  ],
  [
    "authorize",
    [
      { context: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, "v"])) },
      { context: { "": "v" } },
      { context: { n: "\0" } },
      { context: { "n\0": "v" } },
      { context: { n: 1 } },
      { context: { n: long(1025) } },
      { expires_in_minutes: 1.5 },
      { expires_in_minutes: "30" },
      { approvals_required: 11 },
      { callback_url: "ftp://example.com" },
      { callback_url: "http://exa mple.com" },
      { callback_url: "http://exämple.com" },
      { callback_url: "https:example.com" },
      { callback_url: "\nhttps://example.com" },
    ],
  ],
  [
    "registerIdentity",
    [
      { tools: ["a", "b", "a"] },
      { tools: [""] },
      { name: "\0" },
      { public_key: "AAAA" },
      { public_key: rawKey.slice(0, -1) },
      { public_key: rawKey.replaceAll("=", "A=") },
      { public_key: "not base64" },
      { public_key_pem: pem.replace("PUBLIC", "PRIVATE") },
      { public_key_pem: pem.slice(0, -20) },
      { public_key_pem: `x${pem}` },
      { public_key_pem: pem.replace("MCow", "MCox") },
      { proof_of_possession: "AAAA" },
    ],
  ],
  ["updateIdentity", [{ description: "\0" }, { public_key: "AAAA" }, { tools: [] }]],
  [
    "putTools",
    [
      { tools: ["a", "a"] },
      { tools: ["a\0"] },
      { tool_descriptions: { a: "\0" } },
      { tool_descriptions: { "\0": "d" } },
      { tool_descriptions: { "": "d" } },
    ],
  ],
  ["requestKey", [{ email: "you" }, { email: "you@example.com\0" }, { name: "\0" }]],
  ["verifyKey", [{ code: "12345" }, { code: "１２３４５６" }]],
  [
    "createPresentation",
    [
      { audience: "public" },
      { audience: "\0" },
      { nonce: "a\0" },
      { disclose: ["blinding"] },
      { expires_in: 59 },
      { expires_in: 60.5 },
    ],
  ],
];

/** Refused by what is said in words, with the words. */
const refusedInWords: [JsonObject, string][] = [
  [{ human_approver_hash: "h" }, "needs `human_approved: true` or a `human_authorization`"],
  [
    { human_approver_hash: "h", human_approved: false },
    "needs `human_approved: true` or a `human_authorization`",
  ],
  [
    { human_approver_hash: "h", human_approved: null },
    "needs `human_approved: true` or a `human_authorization`",
  ],
  [{ human_approved: false, human_authorization: {} }, "not false beside a `human_authorization`"],
  [{ metadata: { a: [{ b: ["\0"] }] } }, "without U+0000 in its names and strings"],
  [{ human_authorization: { a: { b: "\0" } } }, "without U+0000 in its names and strings"],
];

const accepted: [OperationId, JsonObject[]][] = [
  [
    "attest",
    [
      { action: long(1000) },
      { human_approver_hash: "h", human_approved: true },
      { human_approver_hash: null, human_approved: false, human_authorization: null },
      { metadata: { a: [null, true, 1e22, "\u0001\n", { "": {} }] } },
      { tools_used: ["a", "a"] },
    ],
  ],
  [
    "authorize",
    [{ context: { n: "" } }, { callback_url: "HTTPS://a:1/b%20c?d=%C3%A4#e".replace("HTTPS", "https") }],
  ],
  [
    "registerIdentity",
    [
      { tools },
      { public_key: rawKey },
      { public_key: ` ${rawKey}\n`, public_key_pem: pem },
      { public_key_pem: rawKey },
    ],
  ],
  ["updateIdentity", [{ public_key_pem: pem.replaceAll("\n", "\r\n") }]],
  [
    "putTools",
    [
      { tools, tool_descriptions: { a: "d" } },
      { tools: [], tool_descriptions: null },
    ],
  ],
];

describe("the schemas of the OpenAPI document", () => {
  const { test, key } = setupTestApp(anyKind, {
    LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
    LIMIT_AUTHORIZE_PER_MINUTE: "1000",
    LIMIT_KEYED_PER_MINUTE: "1000",
  });
  const send = async (id: OperationId, body: JsonObject) => {
    const spec: OperationSpec = operations[id];
    const path = spec.path
      .replace("{slug}", "invoice-bot")
      .replace("{id}", "019a0000-0000-7000-8000-000000000000");
    return test.call(spec.method, path, { key, body });
  };
  beforeAll(async () => {
    expect((await send("registerIdentity", requestExamples.registerIdentity ?? {})).status).toBe(201);
  });

  it.each(refused)("refuse of %s what the service refuses by 422", async (id, changes) => {
    for (const change of changes) {
      const body = { ...requestExamples[id], ...change };
      expect([change, (await send(id, body)).status, isDescribed(id, body)]).toEqual([change, 422, false]);
    }
  });

  it.each(refusedInWords)("say in words what else the service refuses: %j", async (change, words) => {
    const body = { ...requestExamples.attest, ...change };
    const { JsonValue, AttestRequest } = document.components.schemas;
    expect([(await send("attest", body)).status, isDescribed("attest", body)]).toEqual([422, true]);
    expect(JSON.stringify([JsonValue, AttestRequest])).toContain(words);
  });

  it.each(accepted)("take of %s what the service takes", async (id, changes) => {
    for (const change of changes) {
      const body = { ...requestExamples[id], ...change };
      const { status } = await send(id, body);
      expect([change, status, isDescribed(id, body)]).toEqual([change, expect.toBeOneOf([200, 201]), true]);
    }
  });

  it("require a body, but of a POST whose fields are all optional", async () => {
    const { key: freezer } = await test.createKey("dev@example.com", ["freeze"]);
    const left: [OperationId, string, number][] = [
      ["unfreezeAgent", freezer, 200],
      ["revokeAuthorization", key, 404],
      ["rotateWebhook", key, 404],
    ];
    for (const [id, by, status] of left) {
      const spec: OperationSpec = operations[id];
      const path = spec.path
        .replace("{slug}", "invoice-bot")
        .replace("{request_id}", `areq_${"A".repeat(22)}`)
        .replace("{webhook_id}", "019a0000-0000-7000-8000-000000000000");
      expect([id, (await test.call(spec.method, path, { key: by })).status]).toEqual([id, status]);
    }
    const optional = documented.filter(([, spec]) => {
      const { requestBody } = document.paths[describedPath(spec)][spec.method.toLowerCase()];
      return requestBody?.required === false;
    });
    expect(optional.map(([id]) => id).sort()).toEqual(left.map(([id]) => id).sort());
    expect((await test.call("POST", "/v1/attest", { key })).status).toBe(400);
    expect((await test.call("PATCH", "/v1/identity/invoice-bot", { key })).status).toBe(400);
  });

  it("refuse and take the same bodies as the service, but for what no schema can say", () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" }) as fc.Arbitrary<JsonValue>,
      fc.constantFrom<JsonValue>(
        null,
        true,
        false,
        "",
        "\0",
        "a\0b",
        "a",
        "-a",
        "public",
        "https://a.example/",
        "http://[::1]/ü",
        rawKey,
        pem,
        `${rawKey} `,
        [],
        ["a"],
        ["a", "a"],
        ["a\0"],
        ["action"],
        {},
        { a: "b" },
        { a: "\0" },
        { "\0": "" },
        { a: { "b\0": 1 } },
        0,
        1,
        60,
        1.5,
        1e9,
        -1,
        "123456",
        "a@example.com",
        "A".repeat(200),
      ),
    );
    const cases = withBody.map(([id, { body }]) => {
      const names = Object.keys(
        (document.components.schemas as Record<string, { properties?: object }>)[nameOf(id)]?.properties ??
          {},
      );
      expect(names.length).toBeGreaterThan(0);
      const changes = fc.dictionary(fc.constantFrom(...names, "typo"), odd, { maxKeys: 4 });
      return changes.map((change) => ({
        id,
        body,
        sent: { ...requestExamples[id], ...change } as JsonObject,
      }));
    });
    fc.assert(
      fc.property(fc.oneof(...cases), ({ id, body, sent }) => {
        const isTaken = isTakenByTheDoor(sent) && body?.safeParse(sent).success === true;
        if (!isTaken && isUnsayable(sent)) return;
        expect([id, sent, isDescribed(id, sent)]).toEqual([id, sent, isTaken]);
      }),
      { numRuns: 2_000 },
    );
  });
});

const nameOf = (id: OperationId): string => {
  const spec: OperationSpec = operations[id];
  const schema =
    document.paths[describedPath(spec)][spec.method.toLowerCase()].requestBody.content["application/json"]
      .schema;
  return (
    String(schema.$ref ?? "")
      .split("/")
      .at(-1) ?? ""
  );
};

function isTakenByTheDoor(body: JsonObject): boolean {
  try {
    parseStrictObject(new TextEncoder().encode(JSON.stringify(body)));
    return true;
  } catch {
    return false;
  }
}

/**
 * Numbers and names that are not JSON of ours at all (400), addresses that look right and are none, and what the document
 * says in words.
 */
function isUnsayable(body: JsonObject): boolean {
  const text = JSON.stringify(body);
  const url = body["callback_url"];
  // Fields that may be changed have to be in the request.
  const isInWords =
    Boolean(body["amendable"]) ||
    text.includes("\\u0000") ||
    "human_approver_hash" in body ||
    "human_authorization" in body;
  return isInWords || /__proto__|\\ud[89a-f]/i.test(text) || (typeof url === "string" && !URL.canParse(url));
}
