/** Guarantee: a receiver gets one POST at the address that was checked, and leads it nowhere else. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Resolve } from "#lib/jobs/guarded-request";
import { type Receiver, startReceiver } from "#support/webhook-receiver";
import { type Posting, post } from "./deliver";

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => {
  receiver.received.length = 0;
  receiver.answer = () => ({ status: 204 });
});
afterAll(() => receiver.close());

const send = (url: string, more: Partial<Posting> = {}) =>
  post({
    url,
    body: '{"a":"ä"}',
    headers: { "webhook-id": "msg_1" },
    mayBeLoopback: true,
    nowMs: 0,
    ...more,
  });
const portOf = () => new URL(receiver.url).port;
const resolving =
  (...rounds: string[][]): Resolve =>
  (_name, done) =>
    done(
      null,
      (rounds.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );

describe("one POST", () => {
  it("arrives as it is, and 2xx alone is success", async () => {
    expect(await send(receiver.url)).toEqual({ status: 204, problem: null, retryAfterSeconds: null });
    expect(receiver.received).toMatchObject([{ body: '{"a":"ä"}', headers: { "webhook-id": "msg_1" } }]);
    for (const status of [300, 304, 400, 410, 500]) {
      receiver.answer = () => ({ status, headers: { "retry-after": "7" } });
      expect(await send(receiver.url)).toEqual({ status, problem: `HTTP ${status}`, retryAfterSeconds: 7 });
    }
  });

  it.each([301, 302, 303, 307, 308])("does not follow a redirect (%i)", async (status) => {
    receiver.answer = ({ path: asked }) =>
      asked === "/hook" ? { status, headers: { location: "/next" } } : { status: 200 };
    expect(await send(receiver.url)).toMatchObject({ status, problem: `HTTP ${status}` });
    expect(receiver.received.map((message) => message.path)).toEqual(["/hook"]);
  });

  it("ends if the receiver switches to another protocol", async () => {
    receiver.answer = () => ({ status: 101, headers: { connection: "upgrade", upgrade: "x" } });
    expect(await send(receiver.url, { timeoutMs: 60_000 })).toMatchObject({
      status: null,
      problem: "it closed the connection without an answer",
    });
  });

  it("gives up after the time limit", async () => {
    receiver.answer = () => null;
    expect(await send(receiver.url, { timeoutMs: 50 })).toMatchObject({
      status: null,
      problem: "no answer in time",
    });
  });

  it("says that nobody listens, and no more", async () => {
    expect(await send("http://127.0.0.1:1/")).toMatchObject({
      status: null,
      problem: "no connection (ECONNREFUSED)",
    });
  });
});

describe("a name", () => {
  const named = () => `http://receiver.localhost:${portOf()}/hook`;

  it("is connected to by the address that was looked up and checked", async () => {
    expect(await send(named(), { resolve: resolving(["127.0.0.1"]) })).toMatchObject({ status: 204 });
    // A second look-up, between check and connection, would have found nothing.
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    ["a private address", ["10.0.0.1"]],
    ["this machine", ["127.0.0.1"]],
    ["this machine among others", ["93.184.216.34", "127.0.0.1"]],
    ["a mapped address", ["::ffff:127.0.0.1"]],
    ["the cloud's metadata", ["169.254.169.254"]],
  ])("that leads to %s is refused in production", async (_what, addresses) => {
    const sent = await send(`https://rebind.example:${portOf()}/hook`, {
      mayBeLoopback: false,
      resolve: resolving(addresses),
    });
    expect(sent.problem).toBe("its name leads to an address that is not public");
  });

  it.each(["rebind.example", "[2606:4700::a00:1]"])(
    "that leads by the network's NAT64 to a private address is refused: %s",
    async (host) => {
      const resolve: Resolve = (name, done) =>
        done(null, [
          { address: name === "ipv4only.arpa" ? "2606:4700::c000:aa" : "2606:4700::a00:1", family: 6 },
        ]);
      const sent = await send(`https://${host}:${portOf()}/hook`, { mayBeLoopback: false, resolve });
      expect(sent.problem).toBe("its name leads to an address that is not public");
    },
  );

  it("that the operator has named may be private, and is no link-local address all the same", async () => {
    const url = `https://rebind.example:${portOf()}/hook`;
    const to = (address: string, allowedHosts: string[]) =>
      send(url, { mayBeLoopback: false, allowedHosts, resolve: resolving([address]) });
    expect((await to("169.254.169.254", ["rebind.example"])).problem).toContain("link-local");
    expect((await to("127.0.0.1", ["other.example"])).problem).toContain("not public");
    // Reached: the receiver speaks no TLS.
    expect((await to("127.0.0.1", ["rebind.example"])).problem).toMatch(/^no connection/);
  });

  it("that changes its address between two attempts (DNS rebinding) is judged at each of them", async () => {
    const resolve = resolving(["192.0.2.1"], ["127.0.0.1"]);
    const url = `https://rebind.example:${portOf()}/hook`;
    for (const _ of [1, 2])
      expect((await send(url, { mayBeLoopback: false, resolve })).problem).toMatch(/not public/);
    expect(receiver.received).toEqual([]);
  });

  it("of this machine needs no name server", async () => {
    expect(await send(`http://localhost:${portOf()}/hook`)).toMatchObject({ status: 204 });
  });

  it("that nobody has is said to be none", async () => {
    const resolve: Resolve = (_name, done) => done(Object.assign(new Error("x"), { code: "ENOTFOUND" }), []);
    expect((await send(named(), { resolve })).problem).toBe("no connection (ENOTFOUND)");
  });
});

describe("in production", () => {
  it("neither this machine nor http is reached, whatever was stored", async () => {
    expect(await send(receiver.url, { mayBeLoopback: false })).toMatchObject({
      problem: "its URL must be an https URL",
    });
    const inside = await send(`https://127.0.0.1:${portOf()}/`, { mayBeLoopback: false });
    expect(inside.problem).toBe("its URL must lead to a public address");
    expect(receiver.received).toEqual([]);
  });

  it("a certificate must be one that is trusted", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "countersign-tls-"));
    const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "1"];
    spawnSync("openssl", [
      "req",
      "-x509",
      "-newkey",
      "ed25519",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      ...subject,
    ]);
    let requests = 0;
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => {
      requests += 1;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const sent = await send(`https://localhost:${port}/`, { resolve: resolving(["127.0.0.1"]) });
    expect(sent.problem).toBe("no connection (DEPTH_ZERO_SELF_SIGNED_CERT)");
    expect(requests).toBe(0);
    server.close();
    rmSync(folder, { recursive: true });
  });
});
