/** Every page counts, whatever the method, and a flood of pages from one address leaves the API's latency where it was. */
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeDataDir } from "#support/databases";
import { callServer, type ServerProcess, startServer } from "./server-process";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

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

/** A server for the tests of the describe block that this is called in. */
function serve(door: "server" | "next", settings: Record<string, string>): () => ServerProcess {
  let dataDir: string;
  let server: ServerProcess;
  beforeAll(async () => {
    dataDir = await makeDataDir();
    server = await startServer(door, dataDir, settings);
  });
  afterAll(async () => {
    await server.stop("SIGKILL");
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  });
  return () => server;
}

describe.each(["server", "next"] as const)("pages within a limit (%s)", (door) => {
  const limit = 16;
  const server = serve(door, {
    LIMIT_PUBLIC_READ_PER_MINUTE: String(limit),
    LIMIT_VERIFY_PER_MINUTE: "1000",
  });

  if (door === "next") {
    it("are drawn as pictures beside the requests, as many at once as the queue holds", async () => {
      const { base } = server();
      const email = "dev@example.com";
      await callServer(base, "POST", "/v1/keys/request", { body: { email } });
      const { body: mailbox } = await callServer(base, "GET", "/dev/mailbox/messages");
      const code = mailbox.messages[0].subject.slice(0, 6);
      const { api_key: key } = (await callServer(base, "POST", "/v1/keys/verify", { body: { email, code } }))
        .body;
      const body = { agent_slug: "drawn", action: "a", inputs_hash: "b" };
      const { attestation_id: id } = (await callServer(base, "POST", "/v1/attest", { key, body })).body;
      const picture = `${base}/verify/drawn/${id}/opengraph-image`;
      expect((await fetch(picture)).status).toBe(200);
      const answers = await Promise.all(Array.from({ length: 60 }, () => fetch(picture)));
      const statuses = answers.map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 503]));
      // The queue holds 16. The thread may have taken one more before the others came, or not.
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(16);
      expect(answers.find(({ status }) => status === 503)?.headers.get("retry-after")).toBe("2");
      expect((await fetch(picture)).status).toBe(200);
    });
  }

  it("all count", async () => {
    const { base } = server();
    let last = 0;
    for (let i = 0; i < 2 * limit && last !== 429; i += 1) {
      const [method, target] = costly[i % costly.length] ?? ["GET", "/"];
      last = (await callServer(base, method, target)).status;
    }
    for (const [method, target] of costly) {
      const { status, headers } = await callServer(base, method, target);
      expect([method, target, status]).toEqual([method, target, 429]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(headers.get("ratelimit")).toContain('"public_read";r=0');
    }
  });
});

describe("pages", () => {
  const server = serve("server", { LIMIT_PUBLIC_READ_PER_MINUTE: "1000000", LOG_LEVEL: "error" });

  it("take a form in the portal alone, and nothing of Next's own addresses", async () => {
    const { base } = server();
    const form = {
      rawBody: "--x",
      headers: { "content-type": "multipart/form-data; boundary=x", "next-action": "00" },
    };
    for (const target of ["/", "/docs", "/verify/a/b", "/agent/a", "/nothing"])
      expect([target, (await callServer(base, "POST", target, form)).status]).toEqual([target, 405]);
    for (const target of [
      "/_next/image?url=%2Ficon.svg&w=640&q=75",
      "/%5Fnext/image",
      "//_next//data/x.json",
      "/_next",
    ])
      expect([target, (await callServer(base, "GET", target)).status]).toEqual([target, 404]);
  });

  const medianOf = (numbers: number[]) =>
    numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

  async function measureApi(base: string): Promise<number> {
    const times: number[] = [];
    for (let i = 0; i < 60; i += 1) {
      const startedMs = performance.now();
      await callServer(base, "GET", "/v1/pubkey");
      times.push(performance.now() - startedMs);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return medianOf(times);
  }

  /** 32 connections that ask for one page after the other, at most `count` in all, until stopped. */
  function startFlood(port: number, count: number) {
    let left = count;
    const answered: number[] = [];
    const askOne = ([method, target]: readonly [string, string]) =>
      new Promise<void>((resolve) => {
        const asked = request({ port, path: target, method }, (response) => {
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

  it("leave the API's latency where it was, asked for in a flood", async () => {
    const { base, port } = server();
    for (const [method, target] of costly) await callServer(base, method, target);
    const ratios: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const quiet = await measureApi(base);
      const flood = startFlood(port, 3_000);
      // By then every connection waits for a page behind the others'.
      await vi.waitFor(() => expect(flood.answered.length).toBeGreaterThan(64), { timeout: 60_000 });
      const before = flood.answered.length;
      ratios.push((await measureApi(base)) / quiet);
      expect(flood.answered.length).toBeGreaterThan(before);
      await flood.stop();
    }
    const words = `median beside the flood ÷ median alone, in three rounds: ${ratios.join(", ")}`;
    expect(medianOf(ratios), words).toBeLessThan(3);
  });
});
