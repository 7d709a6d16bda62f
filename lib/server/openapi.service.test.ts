/**
 * The OpenAPI document is true: every documented status of every operation is sent for real and its answer, body
 * and headers, validated against the document.
 */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { beginIdempotent } from "#lib/api/http/idempotency";
import { pathExamples, requestExamples } from "#lib/api/operations/examples";
import { type OperationId, operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { servedPackages } from "#lib/db/schema";
import { beginEpoch } from "#lib/log/keys/new-epoch";
import { readOpenHead } from "#lib/log/reading/reader";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import { NPM_PACKAGE, PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { askQuestion } from "#lib/services/approvals/decision/questions";
import { startTestApp, type TestAnswer, type TestApp, type TestCall } from "#support/app";
import { approveUnproven, ask } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { writeLogList } from "#support/listed-logs";
import { describedAnswers } from "#support/openapi-answers";

// biome-ignore lint/suspicious/noExplicitAny: the document is read freely
type Document = any;

const documented = (Object.entries(operations) as [OperationId, OperationSpec][]).filter(
  ([, spec]) => !spec.internal,
);
const unknown: Record<string, string> = {
  id: "019a0000-0000-7000-8000-000000000000",
  slug: "nobody",
  request_id: "areq_AAAAAAAAAAAAAAAAAAAAAA",
  log: "7",
  path: "0/999",
  hash: "0".repeat(64),
  covers_size: "4711",
  webhook_id: "019a0000-0000-7000-8000-000000000000",
  message_id: `msg_${"0".repeat(32)}`,
  digest: "0".repeat(16),
  file: NPM_PACKAGE,
};

/** A package that a version before this one served. */
const oldPackage = Buffer.from("a package");
const oldDigest = createHash("sha256").update(oldPackage).digest("hex").slice(0, 16);

let test: TestApp;
let strict: TestApp;
let document: Document;
let checkAnswer: ReturnType<typeof describedAnswers>;
let key: string;
let organizationId: string;
let attestationId: string;
let requestId: string;
let coversSize = 1;
let webhookId: string;
let messageId: string;
const seen = new Set<string>();

function pathOf(spec: OperationSpec, values: Record<string, string>): string {
  return spec.path.replaceAll(
    /\{(\w+)(?:\.\.\.)?\}/g,
    (_, name: string) => values[name] ?? unknown[name] ?? "",
  );
}

function check(id: OperationId, answer: TestAnswer): void {
  checkAnswer(id, answer);
  seen.add(`${id} ${answer.status}`);
}

async function send(
  app: TestApp,
  id: OperationId,
  values: Record<string, string>,
  options: TestCall = {},
): Promise<TestAnswer> {
  const spec: OperationSpec = operations[id];
  // The one operation that needs a query.
  const query = id === "search" ? `?q=${values["id"] ?? ""}` : "";
  const answer = await app.call(spec.method, pathOf(spec, values) + query, options);
  check(id, answer);
  return answer;
}

const known = (): Record<string, string> => ({
  id: attestationId,
  slug: "invoice-bot",
  request_id: requestId,
  hash: "1".repeat(64),
  covers_size: String(coversSize),
  webhook_id: webhookId,
  message_id: messageId,
  digest: oldDigest,
});
const bodyOf = (id: OperationId): TestCall =>
  requestExamples[id] === undefined
    ? {}
    : { body: requestExamples[id], headers: { "content-type": "application/json" } };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "countersign-openapi-"));
  test = await startTestApp(anyKind, {
    LOG_LIST: writeLogList(folder, ["http://localhost:3000"]),
    LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
    LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: "1000",
  });
  const limits = ["ATTEST", "VERIFY", "FEED", "AUTHORIZE", "READ_AUTHORIZATION", "PUBLIC_READ", "KEYED"].map(
    (name) => [`LIMIT_${name}_PER_MINUTE`, "1"],
  );
  strict = await startTestApp(anyKind, {
    ...Object.fromEntries(limits),
    LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1",
  });
  ({ key, organizationId } = await test.createKey("you@example.com"));
  await test.query("INSERT INTO cosigned_notes (hash, log_id, size, note) VALUES ($1, 1, 1, 'a note')", [
    known()["hash"],
  ]);
  await test.app.context.database.db
    .insert(servedPackages)
    .values({ digest: oldDigest, name: NPM_PACKAGE, bytes: oldPackage });
  document = (await test.call("GET", "/v1/openapi.json")).body;
  checkAnswer = describedAnswers(document);
});
afterAll(async () => {
  await test.close();
  await strict.close();
  await rm(folder, { recursive: true });
});

/** Operations that a service which is the only one lacks. */
const listFiles: OperationId[] = ["log_list", "log_list_signature"];

/** Files that the build makes. */
const programs: OperationId[] = [
  "verifierProgram",
  "verifierChecksum",
  "commandProgram",
  "commandChecksum",
  "clientPackage",
  "pythonWheel",
  "pythonWheelChecksum",
];

describe("the OpenAPI document", () => {
  it("is 3.1, lists every public operation once, and all its references resolve", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: "http://localhost:3000" }]);
    const listed = Object.values(
      document.paths as Record<string, Record<string, { operationId: string }>>,
    ).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    expect(listed.sort()).toEqual(documented.map(([id]) => id as string).sort());
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)];
    expect(references.length).toBeGreaterThan(100);
    for (const [, kind = "", name = ""] of references)
      expect(document.components[kind]?.[name], name).toBeDefined();
  });

  it("has an example of every part of a path, and answers it as it says", async () => {
    for (const [id, spec] of documented) {
      if (!spec.path.includes("{") || spec.method !== "GET") continue;
      await send(test, id, { ...pathExamples }, { key });
    }
    const described = Object.entries(document.paths as Record<string, Record<string, Document>>);
    const parameters = described.flatMap(([where, item]) =>
      Object.values(item).flatMap((operation) =>
        (operation.parameters as Document[])
          .filter((one) => one.in === "path")
          .map((one) => [where, one.name, one.schema.pattern ?? "", one.example ?? null]),
      ),
    );
    expect(parameters.length).toBeGreaterThan(10);
    for (const [where, name, pattern, example] of parameters)
      expect([where, name, new RegExp(pattern).test(example ?? "\0"), example !== null]).toEqual([
        where,
        name,
        true,
        true,
      ]);
  });

  it("describes the programs before the build has made them, and after", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "countersign-programs-"));
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
    for (const id of programs) expect([id, (await send(test, id, {})).status]).toEqual([id, 404]);
    await mkdir(path.join(folder, "dist"));
    for (const name of ["verify.mjs", "countersign.mjs", "countersign.tgz", PYTHON_WHEEL])
      await writeFile(path.join(folder, "dist", name), "// a program\n");
    for (const id of programs) expect([id, (await send(test, id, {})).status]).toEqual([id, 200]);
    cwd.mockRestore();
    await rm(folder, { recursive: true });
  });

  it("has examples that are answered with success unchanged", async () => {
    const registered = await send(test, "registerIdentity", {}, { key, ...bodyOf("registerIdentity") });
    expect(registered.status).toBe(201);
    const made = await send(
      test,
      "attest",
      {},
      { key, body: { ...requestExamples.attest, enable_zk: true } },
    );
    attestationId = made.body.attestation_id;
    expect(made.body.tools_authorized).toBe(true);
    const partly = { attestations: [requestExamples.attest, {}] };
    expect((await send(test, "attestBatch", {}, { key, body: partly })).status).toBe(207);
    const asked = await send(test, "authorize", {}, { key, ...bodyOf("authorize") });
    requestId = asked.body.request_id;
    await askQuestion(test.app.context, requestId, { question: "What is it for?" }, "192.0.2.1");
    await send(test, "requestKey", {}, bodyOf("requestKey"));
    const { request_id } = (await ask(test, key)).made;
    await approveUnproven(test, request_id);
    const claim = { key, ...bodyOf("claimAuthorization") };
    expect((await send(test, "claimAuthorization", { request_id }, claim)).status).toBe(200);
    const revoke = { key, ...bodyOf("revokeAuthorization") };
    expect((await send(test, "revokeAuthorization", { request_id }, revoke)).status).toBe(200);
    const { body: mail } = await test.call("GET", "/dev/mailbox");
    // Mails about questions come later, and may come last.
    const code = mail.messages.flatMap(
      ({ subject }: { subject: string }) => /^\d{6} /.exec(subject) ?? [],
    )[0];
    const verification = { ...requestExamples.verifyKey, code: code?.trim() };
    expect((await send(test, "verifyKey", {}, { body: verification })).status).toBe(201);
    webhookId = (await send(test, "createWebhook", {}, { key, ...bodyOf("createWebhook") })).body.id;
    const done: OperationId[] = [
      "registerIdentity",
      "authorize",
      "claimAuthorization",
      "revokeAuthorization",
      "requestKey",
      "verifyKey",
      "createWebhook",
    ];
    for (const id of (Object.keys(requestExamples) as OperationId[]).filter((one) => !done.includes(one))) {
      const { status } = await send(test, id, known(), { key, ...bodyOf(id) });
      expect([id, status]).toEqual([id, expect.toBeOneOf([200, 201])]);
    }
    for (const [id, spec] of documented)
      if (spec.body !== undefined) expect([id, requestExamples[id] !== undefined]).toEqual([id, true]);
  });

  it("describes every success", async () => {
    const merge = async (...heads: Parameters<typeof mergeHeads>) => mergeHeads(...heads);
    ({ coversSize } = await makeSnapshot({ ...test.app.context, merge }));
    expect((await send(test, "registerIdentity", {}, { key, ...bodyOf("registerIdentity") })).status).toBe(
      200,
    );
    const tested = await send(test, "testWebhook", known(), { key });
    messageId = tested.body.message_id;
    expect((await send(test, "replayWebhookDelivery", known(), { key })).status).toBe(202);
    const plain = documented.filter(
      ([id, spec]) => spec.method === "GET" && !id.startsWith("epoch_") && !programs.includes(id),
    );
    for (const [id] of plain) {
      const values = { ...known(), path: "0/000.p/1" };
      const { status } = await send(test, id, values, { key });
      expect([id, status]).toEqual([id, 200]);
    }
    expect((await send(test, "cancelAuthorization", known(), { key })).status).toBe(200);
    const { key: spare } = await test.createKey("spare@example.com");
    expect((await send(test, "deleteKey", {}, { key: spare })).status).toBe(200);
  });

  it("describes the errors of input, of keys and of unknown ids", async () => {
    for (const [id, spec] of documented) {
      const valid = { key, ...bodyOf(id) };
      const wants = (status: number) => spec.errors.includes(status);
      const expectStatus = async (status: number, values: Record<string, string>, options: TestCall) => {
        const answer = await send(test, id, values, options);
        expect([id, answer.status]).toEqual([id, status]);
      };
      if (spec.body) await expectStatus(400, known(), { key, rawBody: "{" });
      else if (spec.path.includes("{"))
        await expectStatus(400, Object.fromEntries(Object.keys(unknown).map((name) => [name, "%E0%A4%A"])), {
          key,
        });
      if (spec.query) await send(test, id, known(), { key });
      if (spec.body && wants(413))
        await expectStatus(413, known(), { key, rawBody: "x".repeat((spec.maxBodyBytes ?? 65_536) + 1) });
      if (spec.body && wants(422)) await expectStatus(422, known(), { key, body: { typo: 1 } });
      if (spec.auth.kind === "key" && wants(401))
        await expectStatus(401, known(), spec.body ? bodyOf(id) : {});
      if (spec.auth.kind === "key" && spec.auth.scopes.length > 0) {
        const { scopes } = spec.auth;
        const { key: narrow } = await test.createKey(
          "you@example.com",
          scopeNames.filter((one) => !scopes.includes(one)),
        );
        await expectStatus(403, known(), { ...valid, key: narrow });
      }
      if (wants(404) && ![...programs, ...listFiles, "readRules"].includes(id))
        await expectStatus(404, unknown, valid);
    }
    const { context } = test.app;
    const { logList } = context;
    context.logList = null;
    for (const id of listFiles) expect([id, (await send(test, id, {})).status]).toEqual([id, 404]);
    context.logList = logList;
    const wrong = { body: { email: "nobody@example.com", code: "123456" } };
    expect((await send(test, "verifyKey", {}, wrong)).status).toBe(401);
    const badQuery = await test.call("GET", "/v1/attestations?limit=0", { key });
    check("listAttestations", badQuery);
    check("listAuthorizations", await test.call("GET", "/v1/authorizations?limit=0", { key }));
    check("log_statements", await test.call("GET", "/v1/log/statements?from=0"));
    check("search", await test.call("GET", "/v1/search"));
    check("readRules", await test.call("GET", "/v1/rules?version=0", { key }));
    check("readRules", await test.call("GET", "/v1/rules?version=99", { key }));
    check("readRoster", await test.call("GET", "/v1/roster?number=0", { key }));
    check("readAudit", await test.call("GET", "/v1/audit?limit=0", { key }));
  });

  it.each(["otlpTraces", "otlpLogs"] as const)(
    "describes what OTLP's clients are answered: %s",
    async (id) => {
      const headers = { "content-type": "application/json" };
      for (const [rawBody, status] of [
        [JSON.stringify(requestExamples[id]), 200],
        ["{", 400],
        [" ".repeat(1024 * 1024 + 1), 413],
      ] as const)
        expect([id, (await send(test, id, {}, { key, headers, rawBody })).status]).toEqual([id, status]);
    },
  );

  it("describes conflicts", async () => {
    for (const [id, path, name] of [
      ["attest", "/v1/attest", "held"],
      ["attestBatch", "/v1/attest/batch", "held 1"],
      ["authorize", "/v1/authorize", "held"],
    ] as const) {
      await beginIdempotent(test.app.context, organizationId, path, name, requestExamples[id] ?? {});
      const answer = await send(test, id, {}, { key, ...bodyOf(id), headers: { "idempotency-key": "held" } });
      expect([id, answer.status]).toEqual([id, 409]);
    }
    const outdated = { key, body: { ...requestExamples.putRules, version: 99 } };
    expect((await send(test, "putRules", {}, outdated)).status).toBe(409);
    expect((await send(test, "cancelAuthorization", known(), { key })).status).toBe(409);
    const claim = { key, ...bodyOf("claimAuthorization") };
    expect((await send(test, "claimAuthorization", known(), claim)).status).toBe(409);
    const answer = { key, ...bodyOf("answerQuestion") };
    expect((await send(test, "answerQuestion", known(), answer)).status).toBe(409);
    const revoke = { key, ...bodyOf("revokeAuthorization") };
    expect((await send(test, "revokeAuthorization", known(), revoke)).status).toBe(409);
    await send(test, "updateWebhook", known(), { key, body: { enabled: false } });
    for (const id of ["testWebhook", "replayWebhookDelivery"] as const)
      expect([id, (await send(test, id, known(), { key })).status]).toEqual([id, 409]);
    const callbacks = { webhook_id: (await send(test, "readCallbackWebhook", {}, { key })).body.id };
    expect((await send(test, "testWebhook", callbacks, { key })).status).toBe(422);
    let last = 201;
    while (last === 201)
      last = (await send(test, "createWebhook", {}, { key, ...bodyOf("createWebhook") })).status;
    expect(last).toBe(409);
    expect((await send(test, "deleteWebhook", known(), { key })).status).toBe(200);
    const full = "full@example.com";
    for (let i = 0; i < 50; i += 1) await test.createKey(full);
    await send(test, "requestKey", {}, { body: { email: full } });
    const { body: mail } = await test.call("GET", "/dev/mailbox");
    const verification = { email: full, code: mail.messages[0].subject.slice(0, 6) };
    expect((await send(test, "verifyKey", {}, { body: verification })).status).toBe(409);
    expect((await send(test, "eraseContent", known(), { key })).status).toBe(200);
    for (const id of [
      "createPresentation",
      "downloadBundle",
      "downloadEnvelope",
      "downloadPayload",
      "downloadScitt",
    ] as const)
      expect([id, (await send(test, id, known(), { key, ...bodyOf(id) })).status]).toEqual([id, 409]);
  });

  it("describes limits, reached for real", async () => {
    for (const [n, [id, spec]] of documented.entries()) {
      if (spec.limit === null) continue;
      const { key: own } = await strict.createKey(`limits-${n}@example.com`);
      const statuses = [];
      // A deleted key has no limit: another operation uses its up.
      if (id === "deleteKey") await strict.call("GET", "/v1/keys/info", { key: own });
      for (let i = 0; i < 2 && statuses.at(-1) !== 429; i += 1) {
        const answer = await strict.call(spec.method, pathOf(spec, unknown), {
          key: own,
          ip: `10.0.${n}.1`,
          ...bodyOf(id),
        });
        statuses.push(answer.status);
        if (answer.status === 429) check(id, answer);
      }
      expect([id, statuses.at(-1)]).toEqual([id, 429]);
    }
  });

  it("describes failures of the service and of its database", async () => {
    const { context } = test.app;
    const { database } = context;
    const statuses: [number, Error][] = [
      [500, new Error("broken")],
      [503, Object.assign(new Error("gone"), { code: "ECONNREFUSED" })],
    ];
    const { db } = database;
    const { consume } = context.limiter;
    const { check: checkHealth } = context.health;
    for (const [status, error] of statuses) {
      for (const [id, spec] of documented) {
        const fail = () => {
          throw error;
        };
        database.db = Object.assign(Object.create(db) as typeof db, {
          select: fail,
          execute: fail,
          insert: fail,
          transaction: fail,
        });
        context.limiter.consume = async () => fail();
        // The health check repeats its last answer for a second.
        context.health.check = async () => fail();
        const answer = await send(test, id, known(), { key, ...bodyOf(id) });
        database.db = db;
        context.limiter.consume = consume;
        context.health.check = checkHealth;
        expect([id, spec.path, answer.status]).toEqual([id, spec.path, status]);
      }
    }
  });

  it("describes a service that gives no keys by email", async () => {
    const enforced = await startTestApp(anyKind, {
      OIDC_ISSUER: "https://id.corp.example",
      OIDC_CLIENT_ID: "c",
      OIDC_CLIENT_SECRET: "s",
      OIDC_ENFORCED: "on",
    });
    for (const id of ["requestKey", "verifyKey"] as const)
      expect([id, (await send(enforced, id, {}, bodyOf(id))).status]).toEqual([id, 403]);
    await enforced.close();
  });

  it("describes a log that was begun after the first", async () => {
    const { database, guard, keys } = test.app.context;
    const { origin: firstOrigin } = await readOpenHead(database.db);
    await beginEpoch({ database, guard, lock: null, clock: () => new Date(), firstOrigin }, keys);
    await database.query(
      `INSERT INTO agent_heads (log_id, covers_size, leaf_index, agents, rows, payload, signature,
        envelope_signature, signed_by) VALUES (2, 1, 1, 0, 'rows', '', '', '', '')`,
      [],
    );
    const values = { log: "2", path: "0/000.p/1", covers_size: "1" };
    for (const id of ["epoch_checkpoint", "epoch_tile", "epoch_agent_heads"] as const)
      expect([id, (await send(test, id, values)).status]).toEqual([id, 200]);
  });

  it("was seen whole", () => {
    const all = Object.values(
      document.paths as Record<string, Record<string, { operationId: string; responses: object }>>,
    ).flatMap((item) =>
      Object.values(item).flatMap(({ operationId, responses }) =>
        Object.keys(responses).map((status) => `${operationId} ${status}`),
      ),
    );
    expect(all.filter((one) => !seen.has(one))).toEqual([]);
  });
});
