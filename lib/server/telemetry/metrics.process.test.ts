/**
 * Metrics of a real service under traffic of each kind: every metric that the dashboard and the alert rules name is there
 * with a value, and nothing is kept while they are off.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AppError } from "#lib/errors";
import { happened, measure, stepEnded } from "#lib/instrumentation";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { exportTiles } from "#lib/log/reading/export-tiles";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { encodeVerifierKey, makeVerifierKey, type VerifierKey } from "#lib/protocol/tlog/checkpoint";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { makeAuthority } from "#support/tsa";
import { mergeMetrics, openTelemetry, serveMetrics, type Telemetry } from "./open";

const body = { agent_slug: "measured", action: "Pay", inputs_hash: "sha256:aa" };
const text = (file: string) => readFileSync(`docs/operations/${file}`, "utf8");
const namesIn = (given: string) => new Set(given.match(/\b(?:countersign|nodejs|process)_[a-z0-9_]+/g) ?? []);

/** The value of a metric's one line with these labels. */
function readValue(metrics: string, name: string, ...labels: string[]): number | undefined {
  const lines = metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const line = lines.find((one) => labels.every((label) => one.includes(label)));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ") + 1));
}

describe("metrics", () => {
  let test: TestApp;
  let telemetry: Telemetry;
  const makeWitness = (name: string) =>
    makeVerifierKey(name, 4, createLocalSigner(randomBytes(32).toString("base64"), name).publicKey);
  const [witness, other] = [makeWitness("witness.example"), makeWitness("other.example")];
  let key: string;
  let folder: string;
  const authority = makeAuthority();
  const tsa = "http://127.0.0.1:9/tsr?key=hidden";
  const read = () => telemetry.readMetrics();

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-metrics-"));
    test = await startTestApp(anyKind, {
      LOG_STORE: `file:${folder}`,
      TSA_CERTIFICATES: path.join(authority.folder, "root.pem"),
      // Nobody answers there.
      TSA_URLS: tsa,
      WITNESSES: `${[witness, other].map((one) => `${encodeVerifierKey(one)} http://127.0.0.1:9; `).join("")}policy 2`,
      METRICS_PORT: "9464",
      LIMIT_ATTEST_PER_MINUTE: "3",
    });
    const names = { processName: "server", readsDatabase: true };
    telemetry = await openTelemetry(test.app.env, test.app.context, names);
    ({ key } = await test.createKey());
  });
  afterAll(async () => {
    await telemetry?.close();
    await test?.close();
    authority.remove();
    rmSync(folder, { recursive: true });
  });

  it("count requests, entries, signatures and refusals as they happen", async () => {
    for (let i = 0; i < 4; i += 1) await test.call("POST", "/v1/attest", { key, body });
    const metrics = await read();
    const operation = 'operation="POST /v1/attest"';
    expect(readValue(metrics, "countersign_requests_total", operation, 'status="201"')).toBe(3);
    expect(readValue(metrics, "countersign_requests_total", operation, 'status="429"')).toBe(1);
    expect(readValue(metrics, "countersign_request_seconds_count", operation)).toBe(4);
    expect(readValue(metrics, "countersign_limits_refused_total", 'limit="attest"')).toBe(1);
    expect(readValue(metrics, "countersign_append_seconds_count", 'kind="attestation"')).toBe(3);
    expect(readValue(metrics, "countersign_batch_entries_sum")).toBe(3);
    const { keyId } = test.app.context.keys.signer;
    expect(readValue(metrics, "countersign_signatures_total", `key="${keyId}"`)).toBeGreaterThanOrEqual(6);
    expect(metrics).not.toContain(key);
    expect(metrics.match(/process="server"/g)?.length).toBeGreaterThan(50);
  });

  it("look up the log, its witnesses and the outboxes when they are asked", async () => {
    const { database } = test.app.context;
    const { rows } = await database.query("SELECT size FROM logs", []);
    const size = Number(rows[0]?.["size"]);
    expect(readValue(await read(), "countersign_witness_lag_entries", witness.name)).toBe(size);
    await database.query("UPDATE logs SET created_at = now() - interval '2 hours'", []);
    // The alert must notice a witness that has never cosigned.
    const never = readValue(await read(), "countersign_cosignature_age_seconds", witness.name);
    expect(never).toBeGreaterThan(7190);
    const cosign = ({ name }: VerifierKey) =>
      database.query(
        "INSERT INTO log_cosignatures (log_id, size, witness, line, created_at) VALUES (1, $1, $2, 'x', now() - interval '1 hour')",
        [size - 1, name],
      );
    await cosign(witness);
    const metrics = await read();
    // The policy asks for both.
    expect(readValue(metrics, "countersign_unwitnessed_entries")).toBe(size);
    expect(readValue(metrics, "countersign_unwitnessed_seconds")).toBeGreaterThan(7190);
    await cosign(other);
    const met = await read();
    expect(readValue(met, "countersign_unwitnessed_entries")).toBe(1);
    expect(readValue(met, "countersign_unwitnessed_seconds")).toBeLessThan(3700);
    expect(size).toBeGreaterThan(3);
    expect(readValue(metrics, "countersign_log_size")).toBe(size);
    expect(readValue(metrics, "countersign_cosignature_age_seconds", witness.name)).toBeLessThan(3700);
    expect(readValue(metrics, "countersign_checkpoint_age_seconds")).toBeGreaterThanOrEqual(0);
    expect(readValue(metrics, "countersign_witness_lag_entries", witness.name)).toBe(1);
    expect(readValue(metrics, "countersign_outbox_waiting", 'outbox="mails"')).toBe(0);
    expect(readValue(metrics, "countersign_database_up")).toBe(1);
    expect(readValue(metrics, "countersign_jobs_waiting")).toBe(0);
  });

  it("look up what no authority has stamped, and what LOG_STORE lacks", async () => {
    const { database, store } = test.app.context;
    const { rows } = await database.query("SELECT size FROM logs", []);
    const size = Number(rows[0]?.["size"]);
    const label = 'tsa="127.0.0.1:9/tsr"';
    const before = await read();
    expect(before).not.toContain("hidden");
    expect(readValue(before, "countersign_unstamped_entries", label)).toBe(size);
    // The log is two hours old by now, and it has never stamped.
    expect(readValue(before, "countersign_time_stamp_age_seconds", label)).toBeGreaterThan(7190);
    expect(readValue(before, "countersign_unpublished_entries")).toBe(size);
    expect(readValue(before, "countersign_unpublished_seconds")).toBeGreaterThan(0);
    await database.query(
      "INSERT INTO log_timestamps (log_id, size, tsa, response, stamped_at, created_at) VALUES (1, $1, $2, '', now(), now() - interval '1 hour')",
      [size - 2, tsa],
    );
    await exportTiles({ db: database.db, old: null }, undefined, store as ObjectStore);
    const after = await read();
    expect(readValue(after, "countersign_unstamped_entries", label)).toBe(2);
    expect(readValue(after, "countersign_time_stamp_age_seconds", label)).toBeLessThan(3700);
    expect(readValue(after, "countersign_unpublished_entries")).toBe(0);
    expect(readValue(after, "countersign_unpublished_seconds")).toBe(0);
    // Another log's checkpoint is none of this one.
    await (store as ObjectStore).write(
      "checkpoint",
      Buffer.from("another.example/log\n9\nAAAA\n"),
      "checkpoint",
    );
    expect(readValue(await read(), "countersign_unpublished_entries")).toBe(size);
    const away = vi.spyOn(store as ObjectStore, "read").mockRejectedValue(new Error("away"));
    const meanwhile = await read().finally(() => away.mockRestore());
    expect(readValue(meanwhile, "countersign_unpublished_entries")).toBeUndefined();
    expect(readValue(meanwhile, "countersign_log_size")).toBe(size);
  });

  it("have every name of the dashboard and the alerts, with a value", async () => {
    const { context } = test.app;
    await context.pool
      .run("mergeHeads", { before: new Uint8Array(), given: new Uint8Array() }, { lane: "other", owners: [] })
      .catch(() => {});
    await measure("webhook", "deliver a webhook", async () => {});
    await measure("world", "verify a proof", async () => {
      throw new AppError("service_unavailable", "World is out of reach");
    }).catch(() => {});
    await context.mailer.send({ to: "a@example.com", subject: "s", text: "t", html: "h" });
    happened.publish({ kind: "fork guard refused", name: "" });
    const server = await serveMetrics({ METRICS_PORT: 0, METRICS_HOST: "127.0.0.1" }, [
      { name: "server", read: telemetry.readMetrics },
      { name: "reader-1", read: () => null },
    ]);
    const address = server?.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${address.port}/metrics`);
    const metrics = await answer.text();
    const taken = serveMetrics({ METRICS_PORT: address.port, METRICS_HOST: "127.0.0.1" }, []);
    await expect(taken).rejects.toThrow(/METRICS_PORT \d+ .*can't be bound \(EADDRINUSE\)/);
    const elsewhere = await fetch(`http://127.0.0.1:${address.port}/v1/health`);
    server?.close();
    expect(elsewhere.status).toBe(404);
    expect(readValue(metrics, "countersign_process_up", 'process="reader-1"')).toBe(0);
    expect(readValue(metrics, "countersign_process_up", 'process="server"')).toBe(1);
    expect(readValue(metrics, "countersign_world_calls_total", 'outcome="service_unavailable"')).toBe(1);
    const named = [...namesIn(text("grafana.json")), ...namesIn(text("alerts.yml"))];
    expect(named.length).toBeGreaterThan(20);
    const onServers = /^countersign_database_connections/;
    const expected = anyKind === "postgres" ? named : named.filter((name) => !onServers.test(name));
    const missing = expected.filter((name) => !Number.isFinite(readValue(metrics, name) ?? Number.NaN));
    expect(missing).toEqual([]);
  });

  it("say that the database is gone instead of failing", async () => {
    const { database } = test.app.context;
    const query = database.query;
    database.query = () => Promise.reject(new Error("gone"));
    const metrics = await read().finally(() => {
      database.query = query;
    });
    expect(readValue(metrics, "countersign_database_up")).toBe(0);
    expect(readValue(metrics, "countersign_log_size")).toBeUndefined();
    expect(readValue(metrics, "countersign_requests_total", 'status="201"')).toBe(3);
  });

  it("keep metrics of one name together when processes are merged", () => {
    const one = (name: string) => `# HELP a_total A.\n# TYPE a_total counter\na_total{process="${name}"} 1\n`;
    const merged = mergeMetrics([`${one("x")}\n# HELP b B.\n# TYPE b gauge\nb 2\n`, one("y")]);
    expect(merged).toBe(
      '# HELP a_total A.\n# TYPE a_total counter\na_total{process="x"} 1\na_total{process="y"} 1\n\n# HELP b B.\n# TYPE b gauge\nb 2\n',
    );
  });
});

describe("without METRICS_PORT and a collector", () => {
  it("nobody listens to what happens", async () => {
    const settings = { METRICS_PORT: undefined, OTEL_EXPORTER_OTLP_ENDPOINT: undefined } as never;
    const telemetry = await openTelemetry(settings, {} as never, { processName: "p", readsDatabase: true });
    expect(stepEnded.hasSubscribers || happened.hasSubscribers).toBe(false);
    expect(await telemetry.readMetrics()).toBe("");
    expect(await serveMetrics(settings, [])).toBeNull();
    await telemetry.close();
  });
});

describe("the libraries of metrics and traces", () => {
  it("are not among what the server loads at its start", async () => {
    const { metafile } = await build({
      entryPoints: { server: "server.ts" },
      ...{ bundle: true, write: false, metafile: true, splitting: true, format: "esm", platform: "node" },
      ...{ packages: "external", outdir: "out", logLevel: "silent" },
    } as const);
    const loaded = new Set(["out/server.js"]);
    const packages = new Set<string>();
    for (const output of loaded) {
      for (const { path, kind, external } of metafile.outputs[output]?.imports ?? []) {
        const isLater = kind === "dynamic-import" && /(?:metrics|traces|gauges)-/.test(path);
        if (external && kind !== "dynamic-import") packages.add(path);
        else if (!external && !isLater) loaded.add(path);
      }
    }
    expect(packages).toContain("pino");
    expect(packages).toContain("postgres");
    expect([...packages].filter((name) => /^(?:prom-client|@opentelemetry)/.test(name))).toEqual([]);
    expect(JSON.stringify(metafile.outputs)).toContain("@opentelemetry/sdk-trace");
  });
});

describe("traces", () => {
  const secret = randomBytes(12).toString("hex");

  it("reach the collector as spans of requests and their steps, without anything that a request said", async () => {
    const bodies: string[] = [];
    const paths = new Set<string | undefined>();
    const collector = createServer(async (incoming, outgoing) => {
      paths.add(incoming.url);
      bodies.push(Buffer.concat(await incoming.toArray()).toString());
      outgoing.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
    const { port } = collector.address() as AddressInfo;
    const test = await startTestApp(anyKind, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`,
    });
    const names = { processName: "server", readsDatabase: true };
    const telemetry = await openTelemetry(test.app.env, test.app.context, names);
    const { key } = await test.createKey();
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const headers = { "x-note": secret, traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const made = await test.call("POST", `/v1/attest?q=${secret}`, {
      key,
      headers,
      body: { ...body, action: `Pay ${secret}` },
    });
    await test.call("GET", `/v1/verify/${secret}`);
    await telemetry.close();
    await test.close();
    await new Promise((resolve) => collector.close(resolve));

    expect([...paths]).toEqual(["/v1/traces"]);
    const all = bodies.join("\n");
    for (const said of [secret, key, trace, "127.0.0.1", body.agent_slug]) expect(all).not.toContain(said);
    const spans = bodies.flatMap((one) =>
      JSON.parse(one).resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: object[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    ) as { name: string; traceId: string; spanId: string; parentSpanId?: string; attributes: unknown[] }[];
    const find = (name: string) => spans.find((span) => span.name === name);
    const request = find("POST /v1/attest");
    expect(request?.attributes).toEqual(
      expect.arrayContaining([
        { key: "http.response.status_code", value: { intValue: made.status } },
        { key: "http.route", value: { stringValue: "/v1/attest" } },
        { key: "countersign.request_id", value: { stringValue: made.headers.get("request-id") } },
      ]),
    );
    const append = spans.find(({ name, traceId }) => name === "attestation" && traceId === request?.traceId);
    expect(append?.parentSpanId).toBe(request?.spanId);
    expect(find("store a batch")).toBeDefined();
    expect(find("store a batch")?.traceId).not.toBe(request?.traceId);
    expect(find("GET /v1/verify/{id}")).toBeDefined();
  });
});
