import { describe, expect, it } from "vitest";
import { createWalletBridge } from "./wallet-bridge";

const sealed = { iv: "aXY=", payload: "cGF5bG9hZA==" };
const post = (body: unknown) =>
  new Request("http://localhost/request", {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const get = new Request("http://localhost/");
const idOf = async (response: Response) => ((await response.json()) as { request_id: string }).request_id;

describe("the wallet bridge", () => {
  it("carries a request once and its response once", async () => {
    const bridge = createWalletBridge();
    const created = await bridge.createRequest(post(sealed));
    expect([created.status, created.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    const id = await idOf(created);
    const status = async () => (await bridge.takeResponse(get, { id })).json();
    expect(await status()).toEqual({ status: "initialized", response: null });
    expect((await bridge.hasRequest(get, { id })).status).toBe(200);
    expect(await (await bridge.takeRequest(get, { id })).json()).toEqual(sealed);
    expect((await bridge.takeRequest(get, { id })).status).toBe(404);
    expect((await bridge.hasRequest(get, { id })).status).toBe(404);
    expect(await status()).toEqual({ status: "retrieved", response: null });
    expect((await bridge.putResponse(post(sealed), { id })).status).toBe(201);
    expect((await bridge.putResponse(post(sealed), { id })).status).toBe(409);
    expect(await status()).toEqual({ status: "completed", response: sealed });
    expect((await bridge.takeResponse(get, { id })).status).toBe(404);
  });

  it("refuses taken and malformed ids, malformed bodies and responses to nothing", async () => {
    const bridge = createWalletBridge();
    const request_id = "abcdefghijklmnop";
    expect(await idOf(await bridge.createRequest(post({ ...sealed, request_id })))).toBe(request_id);
    expect((await bridge.createRequest(post({ ...sealed, request_id }))).status).toBe(409);
    for (const bad of ["short", "a".repeat(257), "spaces are not good", "/".repeat(20)]) {
      expect((await bridge.createRequest(post({ ...sealed, request_id: bad }))).status).toBe(400);
    }
    for (const bad of ["{", "[]", { iv: "x" }, { ...sealed, iv: 1 }]) {
      expect((await bridge.createRequest(post(bad))).status).toBe(400);
    }
    expect((await bridge.putResponse(post(sealed), { id: "unknown" })).status).toBe(400);
    expect((await bridge.putResponse(post("{"), { id: request_id })).status).toBe(400);
    expect((await bridge.takeResponse(get, { id: "unknown" })).status).toBe(404);
    expect((await bridge.preflight()).status).toBe(204);
  });

  it("forgets after fifteen minutes", async () => {
    let clock = 0;
    const bridge = createWalletBridge(() => clock);
    const id = await idOf(await bridge.createRequest(post(sealed)));
    clock = 899_999;
    expect((await bridge.hasRequest(get, { id })).status).toBe(200);
    clock = 900_000;
    expect((await bridge.takeRequest(get, { id })).status).toBe(404);
    expect((await bridge.putResponse(post(sealed), { id })).status).toBe(400);
  });

  it("is bounded in bytes, of requests and responses together", async () => {
    const bridge = createWalletBridge();
    const large = { ...sealed, payload: "A".repeat(60 * 1024) };
    const ids: string[] = [];
    for (let i = 0; i < 400; i += 1) {
      const id = await idOf(await bridge.createRequest(post(large)));
      expect((await bridge.putResponse(post(large), { id })).status).toBe(201);
      ids.push(id);
    }
    const kept = await Promise.all(ids.map((id) => bridge.hasRequest(get, { id })));
    const bytes = kept.filter(({ status }) => status === 200).length * 2 * 60 * 1024;
    expect(bytes).toBeGreaterThan(8 * 1024 * 1024);
    expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
  });

  it("is bounded: the oldest of too many go, and 64 KiB are too much", async () => {
    const bridge = createWalletBridge();
    const first = await idOf(await bridge.createRequest(post(sealed)));
    let last = first;
    for (let i = 0; i < 1000; i += 1) last = await idOf(await bridge.createRequest(post(sealed)));
    expect((await bridge.hasRequest(get, { id: first })).status).toBe(404);
    expect((await bridge.hasRequest(get, { id: last })).status).toBe(200);
    expect((await bridge.createRequest(post({ ...sealed, payload: "A".repeat(64 * 1024) }))).status).toBe(
      400,
    );
  });
});
