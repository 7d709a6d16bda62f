/** Every page counts, whatever the method, and a flood of pages from one address leaves the API's latency where it was. */
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { anyKind, createTestDatabase, makeDataDir } from "#support/databases";
import { callServer, type Door, obtainKey, type ServerProcess, startServer } from "./server-process";

const costly: readonly (readonly [string, string])[] = [
  ["GET", "/"],
  ["HEAD", "/verify"],
  ["GET", "/docs/api"],
  ["GET", "/nothing/at/all"],
  ["GET", "/approve/unknown"],
  ["GET", "/portal/sign-in"],
  ["POST", "/portal/sign-in"],
  ["OPTIONS", "/verify"],
];

/** Few, so that one is soon used up; more than a round of the flood takes. */
const readsPerMinute = { server: 600, next: 60 };

/** The id of a page's server action, as the build knows it. */
function actionOf(page: string, name: string): string {
  const text = readFileSync(".next/server/server-reference-manifest.json", "utf8");
  const { node } = JSON.parse(text) as {
    node: Record<string, { exportedName: string; workers: Record<string, unknown> }>;
  };
  const [id = ""] =
    Object.entries(node).find(([, action]) => action.exportedName === name && page in action.workers) ?? [];
  return id;
}

/** Headers of a client with this address, through the proxy that the server trusts: each has limits of its own. */
const from = (address: string) => ({ "x-forwarded-for": address });

describe.each<Door>(["server", "next"])("pages (%s)", (door) => {
  let dataDir: string;
  let database: Awaited<ReturnType<typeof createTestDatabase>> | null;
  let server: ServerProcess;
  beforeAll(async () => {
    dataDir = await makeDataDir();
    database = anyKind === "postgres" ? await createTestDatabase() : null;
    server = await startServer(door, dataDir, {
      ...(database && { DATABASE_URL: database.url }),
      // Each process counts with a share of its own.
      PROCESSES: "1",
      TRUSTED_PROXY_HOPS: "1",
      LIMIT_PUBLIC_READ_PER_MINUTE: String(readsPerMinute[door]),
      LOG_LEVEL: "warn",
    });
    // A first view takes a second.
    for (const [method, target] of costly) await callServer(server.base, method, target);
  });
  afterAll(async () => {
    await server.stop("SIGKILL");
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  });

  if (door === "next") {
    it("are drawn as pictures beside the requests, as many at once as one client may have", async () => {
      const { base } = server;
      const key = await obtainKey(base);
      const body = { agent_slug: "drawn", action: "a", inputs_hash: "b" };
      const { attestation_id: id } = (await callServer(base, "POST", "/v1/attest", { key, body })).body;
      const picture = `${base}/verify/drawn/${id}/opengraph-image`;
      expect((await fetch(picture)).status).toBe(200);
      const answers = await Promise.all(Array.from({ length: 60 }, () => fetch(picture)));
      const statuses = answers.map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 503]));
      // Twelve may wait or be drawn. More are, if some are done before the last have come.
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(12);
      expect(answers.find(({ status }) => status === 503)?.headers.get("retry-after")).toBe("2");
      expect((await fetch(picture)).status).toBe(200);
    });
  }

  /** The log's lines about what `work` does. */
  const linesOf = async (work: () => Promise<void>) => {
    const before = server.output().length;
    await work();
    await expect.poll(() => server.output().length).toBeGreaterThan(before);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return server.output().slice(before).trim().split("\n").filter(Boolean);
  };

  if (door === "next") {
    it("keep no more of a body than a form may have", async () => {
      const lines = await linesOf(async () => {
        const rawBody = "x".repeat(70_000);
        await callServer(server.base, "POST", "/portal/sign-in", { rawBody, headers: from("10.0.0.9") });
      });
      expect(lines.join("\n")).toContain("Request body exceeded 64");
    });
    return;
  }

  it("answer 400 to a form that can't be read, with one short line in the log", async () => {
    const { base } = server;
    const multipart = { "content-type": "multipart/form-data; boundary=x" };
    const text = { "content-type": "text/plain" };
    const known = { "next-action": actionOf("app/portal/sign-in/page", "requestLink") };
    const part = (name: string, value: string) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--x--\r\n`;
    for (const [headers, rawBody, status] of [
      [multipart, "--x", 400],
      [{ "content-type": "multipart/form-data" }, "--x", 400],
      [{ ...multipart, ...known }, "--x", 400],
      [{ ...multipart, ...known }, part("0", "{"), 400],
      [{ ...multipart, ...known }, part("0", '["$F1"]'), 400],
      [{ ...text, ...known }, "{", 400],
      [{ ...text, ...known }, "", 400],
      [{ ...text, "next-action": "__proto__" }, "[]", 400],
      [{ ...multipart, "next-action": `60${"0".repeat(40)}` }, "--x", 409],
    ] as const) {
      const lines = await linesOf(async () => {
        const asked = { rawBody, headers: { origin: base, ...headers } };
        const answer = await callServer(base, "POST", "/portal/sign-in", asked);
        expect([headers, rawBody, answer.status]).toEqual([headers, rawBody, status]);
      });
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: 40, msg: "a form could not be read" });
      expect(lines[0]?.length).toBeLessThan(300);
    }
    const asked = { rawBody: "[1,2]", headers: { origin: base, ...text, ...known } };
    const noForm = await callServer(base, "POST", "/portal/sign-in", asked);
    expect([noForm.status, noForm.body]).toEqual([
      200,
      expect.stringContaining("The form arrived incomplete"),
    ]);
  });

  const medianOf = (numbers: number[]) =>
    numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

  /** 32 connections that ask for one page after the other, at most `count` in all, until stopped. */
  function startFlood(port: number, address: string, count: number) {
    let left = count;
    const answered: number[] = [];
    const askOne = ([method, target]: readonly [string, string]) =>
      new Promise<void>((resolve) => {
        const asked = request({ port, path: target, method, headers: from(address) }, (response) => {
          answered.push(response.statusCode ?? 0);
          response.resume().once("close", resolve);
        });
        asked.once("error", () => resolve()).end();
      });
    const work = async () => {
      while (left-- > 0) await askOne(costly[left % costly.length] ?? ["GET", "/"]);
    };
    const done = Promise.all(Array.from({ length: 32 }, work));
    return {
      answered,
      stop: async () => {
        left = 0;
        await done;
      },
    };
  }

  // Counted in pages, not in milliseconds, so that a busy machine changes nothing. Without the gate it was 6 or 7 pages
  // in the median for the API, and more than 30 for the visitor.
  it("let the API and others' pages pass by, asked for in a flood of one address", async () => {
    const { base, port } = server;
    const flood = startFlood(port, "10.0.1.1", readsPerMinute[door]);
    // Waits until every connection's page is queued behind the others.
    await vi.waitFor(() => expect(flood.answered.length).toBeGreaterThan(32), { timeout: 60_000 });
    const countMeanwhile = async (path: string, address: string) => {
      const before = flood.answered.length;
      expect((await callServer(base, "GET", path, { headers: from(address) })).status).toBe(200);
      return flood.answered.length - before;
    };
    const api: number[] = [];
    const visitor: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      for (let i = 0; i < 3; i += 1) api.push(await countMeanwhile("/v1/pubkey", "10.0.1.2"));
      visitor.push(await countMeanwhile("/verify", "10.0.1.3"));
    }
    expect(medianOf(api), `pages before the API's answer: ${api.join(" ")}`).toBeLessThanOrEqual(2);
    expect(medianOf(visitor), `pages before a visitor's: ${visitor.join(" ")}`).toBeLessThanOrEqual(8);
    expect(flood.answered, "the limit is not what slows it").not.toContain(429);
    await flood.stop();
  });
});
