/** Metrics of a server of several processes: one answer for all of them, each under its name, on a port of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { findPort } from "#support/ports";
import { listMembers } from "#support/process-family";
import { noLimits } from "#support/processes";
import { callServer, obtainKey, type ServerProcess, startServer } from "./server-process";

describe.skipIf(!databaseKinds.includes("postgres") || process.platform !== "linux")(
  "metrics of several processes",
  () => {
    let server: ServerProcess;
    let dataDir: string;
    let metricsPort: number;
    let drop = async () => {};
    const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const upOf = (metrics: string) =>
      Object.fromEntries(
        [...metrics.matchAll(/^countersign_process_up\{process="(.+)"\} (\d)$/gm)].map(([, name, up]) => [
          name,
          up,
        ]),
      );
    /** Over all processes. */
    const sum = (metrics: string, name: string, ...labels: string[]) =>
      metrics
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
        .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);

    beforeAll(async () => {
      dataDir = await mkdtemp(path.join(tmpdir(), "metrics-"));
      metricsPort = await findPort();
      const database = await createTestDatabase();
      drop = database.drop;
      const settings = { DATABASE_URL: database.url, PROCESSES: "2", METRICS_PORT: String(metricsPort) };
      server = await startServer("server", dataDir, { ...noLimits, ...settings });
    });
    afterAll(async () => {
      await server?.stop("SIGKILL");
      await drop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    });

    it("count every request once, whichever process answers, and follow one that is replaced", async () => {
      const key = await obtainKey(server.base);
      const body = { agent_slug: "several", action: "a", inputs_hash: "b" };
      const statuses = await Promise.all(
        Array.from(
          { length: 20 },
          async () => (await callServer(server.base, "POST", "/v1/attest", { key, body })).status,
        ),
      );
      expect(new Set(statuses)).toEqual(new Set([201]));
      expect((await callServer(server.base, "GET", "/docs")).status).toBe(200);
      // The port opens when all processes listen, and a page is counted when its connection has been served.
      const metrics = await vi.waitFor(
        async () => {
          const text = await read();
          expect(upOf(text)).toEqual({ writer: "1", "reader-1": "1", pages: "1" });
          expect(sum(text, "countersign_requests_total", 'operation="page"')).toBeGreaterThan(0);
          return text;
        },
        { timeout: 60_000, interval: 300 },
      );
      const attested = ['operation="POST /v1/attest"', 'status="201"'];
      expect(sum(metrics, "countersign_requests_total", ...attested)).toBe(20);
      const appended = ['kind="attestation"', 'process="writer"'];
      expect(sum(metrics, "countersign_append_seconds_count", ...appended)).toBe(20);
      expect(metrics.match(/^# TYPE countersign_requests_total /gm)).toHaveLength(1);
      expect(metrics.match(/^countersign_log_size/gm)).toHaveLength(1);
      expect((await callServer(server.base, "GET", "/metrics")).status).toBe(404);

      const isReader = ({ role }: { role: string }) => role === "reader";
      const reader = listMembers(server.child.pid ?? 0).find(isReader);
      process.kill(reader?.pid ?? 0, "SIGKILL");
      await vi.waitFor(
        async () => {
          expect(listMembers(server.child.pid ?? 0).find(isReader)?.pid).not.toBe(reader?.pid);
          expect(upOf(await read())).toEqual({ writer: "1", "reader-1": "1", pages: "1" });
        },
        { timeout: 60_000, interval: 300 },
      );
    });
  },
);
