/**
 * Requests made from the OpenAPI document: valid, nearly valid, and none at all. No answer is a 5xx, has a status that the
 * document doesn't name, or a body that its schema refuses. FUZZ_RUNS and FUZZ_SEED make it longer, or the same again.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describedPath } from "#lib/api/openapi";
import { requestExamples } from "#lib/api/operations/examples";
import { type OperationId, operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { startTestApp, type TestApp, type TestCall } from "#support/app";
import { anyKind } from "#support/databases";
import { describedAnswers } from "#support/openapi-answers";
import { valuesOf } from "#support/schema-arbitrary";

const usualRuns = 600;
const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env["FUZZ_RUNS"] ?? usualRuns);

const documented = (Object.entries(operations) as [OperationId, OperationSpec][]).filter(
  ([, { internal }]) => !internal,
);

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  schema: object;
}
interface Described {
  parameters: Parameter[];
  requestBody?: { content: { "application/json": { schema: object } } };
}
interface Sent {
  id: OperationId;
  path: string;
  caller: "all" | "reader" | "wrong" | "nobody";
  call: TestCall;
}

let test: TestApp;
let document: JsonObject;
let check: ReturnType<typeof describedAnswers>;
let keys: Record<Sent["caller"], string | undefined>;
/** Existing values, by the names of path parameters. */
let known: Record<string, string[]>;

beforeAll(async () => {
  const names = ["ATTEST", "VERIFY", "FEED", "AUTHORIZE", "READ_AUTHORIZATION", "PUBLIC_READ", "KEYED"];
  const limits = Object.fromEntries(names.map((name) => [`LIMIT_${name}_PER_MINUTE`, "1000000"]));
  test = await startTestApp(anyKind, {
    ...limits,
    LIMIT_ATTEST_PER_DAY: "1000000",
    LIMIT_AUTHORIZE_PENDING: "1000000",
    LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000000",
  });
  const { key } = await test.createKey();
  const { key: reader } = await test.createKey("dev@example.com", ["read"]);
  keys = { all: key, reader, wrong: "cs_test_nobody", nobody: undefined };
  const post = async (path: string, body: object = {}) => (await test.call("POST", path, { key, body })).body;
  const ids: string[] = [];
  const requestIds: string[] = [];
  // Some of them will be erased or cancelled on the way.
  for (let n = 0; n < 12; n += 1) {
    const attested = await post("/v1/attest", { ...requestExamples.attest, enable_zk: n % 4 === 0 });
    const asked = await post("/v1/authorize", requestExamples.authorize);
    ids.push(attested.attestation_id);
    requestIds.push(asked.request_id);
  }
  known = {
    id: ids,
    slug: ["invoice-bot"],
    request_id: requestIds,
    path: ["0/000.p/1", "0/000", "entries/000.p/1"],
  };
  document = (await test.call("GET", "/v1/openapi.json")).body;
  check = describedAnswers(document);
});
afterAll(() => test.close());

const odd = fc.constantFrom<JsonValue>(
  ...[null, true, "", "\0", "\ud800", "a".repeat(3_000), "-1", -1, 0, 1.5, 1e308, [], {}, [null], { a: {} }],
);
const oddText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("%00", "..", "%E0%A4%A", "'", "null", "-0"),
);

/** One member changed, dropped or added. */
const nearly = (value: JsonObject) =>
  fc
    .tuple(fc.constantFrom(...Object.keys(value), "typo", "__proto__"), fc.option(odd, { nil: undefined }))
    .map(([name, other]) => {
      const { [name]: _, ...rest } = value;
      return other === undefined ? rest : { ...rest, [name]: other };
    });

function bodies(
  id: OperationId,
  { requestBody }: Described,
): fc.Arbitrary<Pick<TestCall, "body" | "rawBody">> {
  if (requestBody === undefined) return fc.constant({});
  const valid = valuesOf(
    document,
    requestBody.content["application/json"].schema,
  ) as fc.Arbitrary<JsonObject>;
  const whole = valid.map((body) => ({ ...requestExamples[id], ...body }));
  const sent = fc.oneof(
    whole,
    fc.constant(requestExamples[id] ?? {}),
    valid.chain(nearly),
    fc.constant(requestExamples[id] ?? {}).chain(nearly),
    odd,
  );
  const raw = fc.oneof(fc.constantFrom("", "{", "[1", '{"a":1,"a":2}', "\ufeff{}", "{}x"), fc.string());
  return fc.oneof(
    { weight: 9, arbitrary: sent.map((body) => ({ body })) },
    { weight: 1, arbitrary: raw.map((rawBody) => ({ rawBody })) },
  );
}

const texts = (schema: object) => valuesOf(document, schema).map(String);

/** Generates paths with some of the query, or none. */
function paths({ path }: OperationSpec, { parameters }: Described): fc.Arbitrary<string> {
  const record = (place: Parameter["in"], valueOfOne: (one: Parameter) => fc.Arbitrary<string>) => {
    const list = parameters.filter((one) => one.in === place);
    const values = Object.fromEntries(list.map((one) => [one.name, valueOfOne(one)]));
    return fc.record<Record<string, string>>(values, place === "path" ? {} : { requiredKeys: [] });
  };
  const fits = ({ name, schema }: Parameter) => {
    // A request that waits would hold the run up.
    if (name === "wait") return fc.constantFrom("0", "26");
    const there = known[name];
    return there === undefined ? texts(schema) : fc.oneof(fc.constantFrom(...there), texts(schema));
  };
  const either = (one: Parameter) => fc.oneof(fits(one), one.name === "wait" ? fc.constant("x") : oddText);
  const parts = fc.oneof(
    fc.tuple(record("path", fits), record("query", fits).map(withoutCursor)),
    fc.tuple(record("path", fits), record("query", either)),
    fc.tuple(record("path", either), record("query", fits)),
  );
  return parts.map(([values, query]) => {
    const target = path.replace(/\{(\w+)(?:\.\.\.)?\}/g, (_, name: string) =>
      escapePart(values[name] ?? "2", name),
    );
    return `${target}?${new URLSearchParams(Object.entries(query).map(([name, text]) => [name, toText(text)]))}`;
  });
}

/** Only the service can make one. */
function withoutCursor({ cursor: _, ...query }: Record<string, string>): Record<string, string> {
  return query;
}

const toText = (value: string) => value.toWellFormed();
/** A path of tiles keeps its slashes, and some of the odd ones are escapes already. */
const escapePart = (value: string, name: string) =>
  name === "path" || /^%[\dA-F%]+$/.test(value)
    ? encodeURI(toText(value)).replaceAll("%25", "%")
    : encodeURIComponent(toText(value));

function requests([id, spec]: (typeof documented)[number]): fc.Arbitrary<Sent> {
  const listed = describedPath(spec);
  const operation = (document["paths"] as Record<string, Record<string, unknown>>)[listed]?.[
    spec.method.toLowerCase()
  ] as Described;
  const caller = fc.oneof(
    { weight: 6, arbitrary: fc.constant("all" as const) },
    { weight: 2, arbitrary: fc.constantFrom("reader" as const, "wrong" as const, "nobody" as const) },
  );
  const idempotencyKey = fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom("once", " ", "x".repeat(256)) },
  );
  return fc
    .record({ body: bodies(id, operation), path: paths(spec, operation), caller, idempotencyKey })
    .map(({ body, path, caller: who, idempotencyKey: once }) => ({
      id,
      path,
      caller: who,
      call: { ...body, headers: once === undefined ? {} : { "idempotency-key": once } },
    }));
}

it("answers requests made from the document as the document says", { timeout: 3_600_000 }, async () => {
  console.info(`fuzz: FUZZ_SEED=${seed} FUZZ_RUNS=${numRuns}`);
  const seen = new Map<OperationId, Set<number>>();
  const send = async ({ id, path, caller, call }: Sent) => {
    // A key that is deleted must not be the one that everything else is sent with.
    const key =
      id === "deleteKey" && caller === "all" ? (await test.createKey("spare@example.com")).key : keys[caller];
    const answer = await test.call(operations[id].method, path, {
      ...call,
      ...(key !== undefined && { key }),
    });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
    seen.set(id, (seen.get(id) ?? new Set()).add(answer.status));
    if (!isElsewhere(id, path)) check(id, answer);
  };
  await fc.assert(fc.asyncProperty(fc.oneof(...documented.map(requests)), send), {
    seed,
    numRuns,
    endOnFailure: true,
  });
  if (numRuns >= usualRuns)
    expect([...documented.map(([id]) => id)].filter((id) => !seen.has(id))).toEqual([]);
});

/** A parameter that is empty or has dots leads to another path, or to none. */
function isElsewhere(id: OperationId, path: string): boolean {
  const { pathname } = new URL(path, "http://localhost");
  const pattern = operations[id].path.replace(/\{\w+\.\.\.\}/, ".+").replace(/\{\w+\}/g, "[^/]+");
  return !new RegExp(`^${pattern}$`).test(pathname);
}
