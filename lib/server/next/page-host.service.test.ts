/** Steps of the production server before Next, which is a stand-in here that notes its requests. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { isDispatched, vouchForPeer } from "./node-http";
import { COUNTED_HEADER, receiveBody } from "./page-limits";
import { serveInTurn, serveMalformed, serveRefusal } from "./page-requests";
import { createRenderQueue } from "./render-limiter";

describe("the pages' host check", () => {
  const { test } = setupTestApp(anyKind, {
    LIMIT_PUBLIC_READ_PER_MINUTE: "30",
    LIMIT_VERIFY_PER_MINUTE: "2",
  });
  let base: string;
  let seen: string[] = [];
  const files = new Set(["/_next/static/chunks/a.js"]);
  const gate = createRenderQueue({ maxWaitingPerAddress: 1, maxActive: 1 });
  let held: (() => void)[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { peerSecret } = test.app;
    if (await serveMalformed(incoming, outgoing, files)) return;
    vouchForPeer(incoming, peerSecret);
    if (await serveRefusal(incoming, outgoing, peerSecret)) return;
    const whole = await receiveBody(incoming, outgoing);
    if (whole === null) return;
    await serveInTurn(gate, incoming, outgoing, async () => {
      const isCounted = whole.headers[COUNTED_HEADER] === peerSecret;
      seen.push(`${whole.method} ${whole.url} ${isCounted ? "counted" : "not counted"}`);
      if (incoming.url === "/hold") await new Promise<void>((resolve) => held.push(resolve));
      const body = await whole.toArray();
      outgoing.end(Buffer.concat(body));
    });
  });
  const ask = (method: string, target: string, init: RequestInit = {}) =>
    fetch(`${base}${target}`, { method, redirect: "manual", ...init });

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.close();
  });

  it("lets nothing of Next's own addresses through but the build's files, however they are spelled", async () => {
    const image = "image?url=%2Fverify%2Fa%2Fb%2Fopengraph-image&w=640&q=75";
    for (const target of [
      `/_next/${image}`,
      `//_next//${image}`,
      `/%5fnext/${image}`,
      `/_next/%69mage`,
      "/_next/data/build/verify/a/b.json",
      "/_next/static/nope.js",
      "/_next",
    ]) {
      const answer = await ask("GET", target);
      expect([target, answer.status]).toEqual([target, 404]);
    }
    expect(seen).toEqual([]);
    expect((await ask("GET", "/_next/static/chunks/a.js")).status).toBe(200);
  });

  it("refuses segments of dots, which browsers resolve before they ask", async () => {
    const line = async (target: string) => {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      const [data] = await once(socket, "data");
      socket.destroy();
      return /^HTTP\/1.1 (\d+)/.exec(String(data))?.[1];
    };
    seen = [];
    for (const target of [
      "/agent/..",
      "/agent/.",
      "/agent/%2e%2e",
      "/agent/%2E./x",
      "/agent/a%2f..",
      "/../agent?x=1",
    ])
      expect([target, await line(target)]).toEqual([target, "400"]);
    expect(seen).toEqual([]);
    for (const target of ["/agent/a..b", "/agent/...", "/agent?x=/../"])
      expect([target, await line(target)]).toEqual([target, "200"]);
  });

  it("takes a form in the portal, of the demo, of approvers' links and of opened receipts alone", async () => {
    for (const [method, target, allow] of [
      ["POST", "/", "GET, HEAD"],
      ["POST", "/docs/api", "GET, HEAD"],
      ["POST", "/approve/token", "GET, HEAD"],
      ["POST", "/portals", "GET, HEAD"],
      ["POST", "/demo/token", "GET, HEAD"],
      ["POST", "/demo/token/receipt/x", "GET, HEAD"],
      ["POST", "/notices/token", "GET, HEAD"],
      ["POST", "/notices/token/leave/x", "GET, HEAD"],
      ["POST", "/opened/token", "GET, HEAD"],
      ["PUT", "/demo", "GET, HEAD, POST"],
      ["PUT", "/portal", "GET, HEAD, POST"],
      ["DELETE", "/portal/keys", "GET, HEAD, POST"],
    ] as const) {
      const answer = await ask(method, target, { headers: { "next-action": "00" } });
      expect([method, target, answer.status]).toEqual([method, target, 405]);
      expect(answer.headers.get("allow")).toBe(allow);
    }
    seen = [];
    const posted = await ask("POST", "/portal/sign-in", { body: "email=a" });
    expect([posted.status, await posted.text()]).toEqual([200, "email=a"]);
    for (const target of ["/demo", "/demo/token/receipt", "/notices/a.b/confirm", "/notices/a.b/leave"])
      expect((await ask("POST", target)).status).toBe(200);
    expect(seen).toEqual([
      "POST /portal/sign-in counted",
      "POST /demo counted",
      "POST /demo/token/receipt counted",
      "POST /notices/a.b/confirm counted",
      "POST /notices/a.b/leave counted",
    ]);
  });

  /** Posts part of a form and returns the answer; the connection stays open for more. */
  const post = async (head: string, body: string) => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`POST /portal/sign-in HTTP/1.1\r\nhost: localhost\r\n${head}\r\n\r\n${body}`);
    const answer = await new Promise<string>((resolve) =>
      socket.once("data", (data) => resolve(String(data))),
    );
    const closed = once(socket.resume(), "close");
    return { status: answer.split(" ")[1], answer, closed, hangUp: () => socket.destroy() };
  };
  const chunkOf = (length: number) => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`;

  it("shows Next a body that is whole, of 64 KiB at most, and lets nobody send one slowly", async () => {
    seen = [];
    const largest = "x".repeat(64 * 1024);
    const whole = await ask("POST", "/portal/sign-in", { body: largest });
    expect([whole.status, await whole.text()]).toEqual([200, largest]);
    const inParts = await post("transfer-encoding: chunked", `${chunkOf(3)}${chunkOf(2)}0\r\n\r\n`);
    expect([inParts.status, inParts.answer.endsWith("xxxxx")]).toEqual(["200", true]);
    expect(seen).toHaveLength(2);
    const announced = await post(`content-length: ${64 * 1024 + 1}`, "");
    const counted = await post("transfer-encoding: chunked", chunkOf(64 * 1024 + 1));
    expect([announced.status, counted.status]).toEqual(["413", "413"]);
    const stalled = await post("content-length: 1000", "email=");
    expect([stalled.status, stalled.answer.includes("within 8 seconds")]).toEqual(["400", true]);
    await stalled.closed;
    expect(seen).toHaveLength(2);
    for (const { hangUp } of [inParts, announced, counted]) hangUp();
  });

  it("counts another spelling of an address with the address", async () => {
    const record = "verify/a/01990000-0000-7000-8000-000000000000";
    expect((await ask("GET", `/${record}`)).status).toBe(200);
    expect((await ask("HEAD", `/%76erify/${record.slice(7)}/opengraph-image`)).status).toBe(200);
    for (const target of [`/${record}`, `//${record}`, `/%76erify/${record.slice(7)}`]) {
      const refused = await ask("GET", target);
      expect([target, refused.status]).toEqual([target, 429]);
      expect(refused.headers.get("ratelimit")).toContain('"verify";r=0');
    }
    expect((await ask("POST", "/opened/a/file")).status).toBe(429);
  });

  it("says that it is busy when an address asks for too much at once", async () => {
    const first = ask("GET", "/hold");
    while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const others = [ask("GET", "/second"), ask("GET", "/third")];
    const refused = await Promise.race(others);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await refused.text()).toContain("Too many requests");
    for (const go of held) go();
    held = [];
    const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 429]);
  });

  it("counts every method and every path, those that are not there too", async () => {
    const kinds = [
      ["GET", "/"],
      ["HEAD", "/nothing"],
      ["OPTIONS", "/docs"],
      ["POST", "/portal/sign-in"],
      ["GET", "/approve/token"],
    ] as const;
    let answered = 0;
    for (; answered < 60; answered += 1) {
      const [method, target] = kinds[answered % kinds.length] ?? kinds[0];
      if ((await ask(method, target)).status === 429) break;
    }
    expect(answered).toBeLessThan(31);
    for (const [method, target] of kinds) {
      const refused = await ask(method, target);
      expect([method, target, refused.status]).toEqual([method, target, 429]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  it("lets every POST through that a file of app answers", async () => {
    const paths = readdirSync("app", { recursive: true, encoding: "utf8" })
      .filter(
        (name) =>
          name.endsWith("route.ts") &&
          /\bPOST\b =|as POST\b|function POST\b/.test(readFileSync(`app/${name}`, "utf8")),
      )
      .map((name) =>
        `/${name.slice(0, -"/route.ts".length)}`.replaceAll(/\/\([^)]+\)/g, "").replaceAll(/\[\w+\]/g, "x"),
      )
      .filter((path) => !isDispatched(path, undefined));
    expect(paths).toEqual(expect.arrayContaining(["/api/auth/backchannel-logout", "/notices/x/devices"]));
    for (const path of paths) expect([path, (await ask("POST", path)).status]).not.toEqual([path, 405]);
  });
});
