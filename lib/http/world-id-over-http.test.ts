/**
 * The whole local flow over real connections, as browser, agent and wallet see it: IDKit's own WASM ↔ bridge ↔ World
 * App ↔ a real proof ↔ the approval page's endpoints, all on the production server's one dispatcher.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { deviceLegacy, IDKit } from "@worldcoin/idkit";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { WorldIdStart } from "#lib/contract/approval-view";
import { isDispatched, serveDirectly } from "./serve";
import { startTestApp, type TestApp } from "./testing";

vi.setConfig({ testTimeout: 240_000 });

describe("World ID's stand-in over HTTP", () => {
  let server: Server;
  let test: TestApp;
  let base: string;
  beforeAll(async () => {
    server = createServer((incoming, outgoing) => {
      if (isDispatched(incoming.url ?? "/", incoming.headers.accept)) void serveDirectly(incoming, outgoing);
      else outgoing.writeHead(418).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    base = `http://localhost:${(server.address() as AddressInfo).port}`;
    test = await startTestApp("embedded", { PUBLIC_BASE_URL: base });
    const realFetch = fetch;
    // Node's own fetch cannot read the WASM from its file.
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      const url = new URL(input instanceof Request ? input.url : String(input));
      if (url.protocol !== "file:") return realFetch(input, init);
      return new Response(readFileSync(url), { headers: { "content-type": "application/wasm" } });
    });
  });
  afterAll(async () => {
    vi.unstubAllGlobals();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await test.close();
  });

  const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(`${base}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it("goes from the agent's question to the signed approval", async () => {
    const { key } = await test.createKey();
    const asked = await send(
      "POST",
      "/v1/authorize",
      { agent_slug: "treasurer", action: "Pay" },
      { authorization: `Bearer ${key}` },
    );
    const made = await asked.json();
    const link = new URL(made.approval_url).pathname;
    const fromPage = { origin: base };
    const start = (await (await send("POST", `${link}/world-id`, {}, fromPage)).json()) as WorldIdStart;
    const { preset: _preset, protocol_version: _version, signal, ...config } = start;
    const request = await IDKit.request(config).preset(deviceLegacy({ signal }));
    const connector = new URL(request.connectorURI);
    expect(`${connector.origin}${connector.pathname}`).toBe(`${base}/dev/world-app`);
    const i = connector.searchParams.get("i") ?? "";
    const k = connector.searchParams.get("k") ?? "";
    const shown = await send("GET", `/dev/world-app/api/request?${new URLSearchParams({ i, k })}`);
    expect(await shown.json()).toMatchObject({ action: start.action, required_level: "device" });
    const answer = { i, k, decision: "approve", human: "emmy" };
    expect(await (await send("POST", "/dev/world-app/api/response", answer)).json()).toEqual({
      sent: "proof",
    });
    const completion = await request.pollUntilCompletion({ pollInterval: 10, timeout: 5000 });
    if (!completion.success) throw new Error(completion.error);
    const waiting = send("GET", `/v1/authorize/${made.request_id}?wait=25`);
    const submitted = await send("POST", `${link}/proof`, completion.result, fromPage);
    expect([submitted.status, (await submitted.json()).status]).toEqual([200, "approved"]);
    const state = await (await waiting).json();
    expect(state.status).toBe("approved");
    expect(state.human_authorization.approvals[0]).toMatchObject({
      level: "device",
      environment: "local",
      verified_by: ["groth16-local", "world-portal-v4"],
    });
  });

  it("serves the bridge at the origin's root, and leaves the pages to Next", async () => {
    const preflight = await send("OPTIONS", "/request");
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    const left = await send("POST", "/request", { iv: "AAAAAAAAAAAAAAAA", payload: "AAAA" });
    const { request_id } = await left.json();
    expect((await send("HEAD", `/request/${request_id}`)).status).toBe(200);
    expect((await send("GET", `/request/${request_id}`)).status).toBe(200);
    expect((await send("HEAD", `/request/${request_id}`)).status).toBe(404);
    expect(
      (await send("PUT", `/response/${request_id}`, { iv: "AAAAAAAAAAAAAAAA", payload: "AAAA" })).status,
    ).toBe(201);
    expect((await (await send("GET", `/response/${request_id}`)).json()).status).toBe("completed");
    expect((await send("DELETE", `/response/${request_id}`)).status).toBe(405);
    expect((await send("POST", "/dev/world-portal/api/v4/verify/rp_x", {})).status).toBe(400);
    for (const page of ["/approve/token", "/dev/world-app", "/requests", "/response"])
      expect([page, (await send("GET", page)).status]).toEqual([page, 418]);
  });
});
