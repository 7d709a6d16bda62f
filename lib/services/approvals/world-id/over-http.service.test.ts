/**
 * The whole local flow over real connections, as browser, agent and wallet see it: IDKit's own WASM ↔ bridge ↔ World
 * App ↔ a real proof ↔ the approval page's endpoints, all on the production server's one dispatcher.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { deviceLegacy, IDKit, proofOfHuman } from "@worldcoin/idkit";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { handleApiRequest, isDispatched } from "#lib/server/next/node-http";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";

vi.setConfig({ testTimeout: 240_000 });

describe("World ID's stand-in over HTTP", () => {
  let server: Server;
  let test: TestApp;
  let base: string;
  beforeAll(async () => {
    server = createServer((incoming, outgoing) => {
      if (isDispatched(incoming.url ?? "/", incoming.headers.accept))
        void handleApiRequest(incoming, outgoing);
      else outgoing.writeHead(418).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    base = `http://localhost:${(server.address() as AddressInfo).port}`;
    test = await startTestApp(anyKind, { PUBLIC_BASE_URL: base });
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

  const configOf = ({
    preset: _1,
    fallback: _2,
    protocol_version: _3,
    signal: _4,
    ...config
  }: WorldIdStart) => config;

  /** Answers in the wallet behind this link: what it was asked for, and what it sent. */
  async function answer(connectorUri: string, human: string) {
    const { searchParams } = new URL(connectorUri);
    const key = { i: searchParams.get("i") ?? "", k: searchParams.get("k") ?? "" };
    const shown = await send("GET", `/dev/world-app/api/request?${new URLSearchParams(key)}`);
    const { required_level: asked } = await shown.json();
    const reply = { ...key, decision: "approve", human };
    const { sent } = await (await send("POST", "/dev/world-app/api/response", reply)).json();
    return { asked, sent };
  }

  it("takes the Orb credential of a wallet without World ID 4.0 in its place", async () => {
    const { key } = await test.createKey();
    const body = { agent_slug: "treasurer", action: "Pay by Orb" };
    const asked = await send("POST", "/v1/authorize", body, { authorization: `Bearer ${key}` });
    const made = await asked.json();
    const link = new URL(made.approval_url).pathname;
    const fromPage = { origin: base };
    const start = (await (await send("POST", `${link}/world-id`, {}, fromPage)).json()) as WorldIdStart;
    const request = await IDKit.request(configOf(start)).preset(proofOfHuman({ signal: start.signal }));
    expect(await answer(request.connectorURI, "ada")).toEqual({ asked: "orb", sent: "proof" });
    const completion = await request.pollUntilCompletion({ pollInterval: 10, timeout: 5000 });
    if (!completion.success) throw new Error(completion.error);
    expect(completion.result).toMatchObject({ protocol_version: "3.0" });
    expect((await send("POST", `${link}/proof`, completion.result, fromPage)).status).toBe(200);
    const state = await (await send("GET", `/v1/authorize/${made.request_id}`)).json();
    expect(state.status).toBe("approved");
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
    expect([start.preset, start.fallback]).toEqual(["proof_of_human", "device_legacy"]);

    // A wallet that has no 4.0 and no Orb credential says so, and the page asks for the older device credential.
    const first = await IDKit.request(configOf(start)).preset(proofOfHuman({ signal: start.signal }));
    const lacking = await answer(first.connectorURI, "emmy");
    expect(lacking).toEqual({ asked: "orb", sent: "credential_unavailable" });
    expect(await first.pollUntilCompletion({ pollInterval: 10, timeout: 5000 })).toMatchObject({
      error: "credential_unavailable",
    });
    const again = (await (await send("POST", `${link}/world-id`, {}, fromPage)).json()) as WorldIdStart;
    const request = await IDKit.request(configOf(again)).preset(deviceLegacy({ signal: again.signal }));
    const connector = new URL(request.connectorURI);
    expect(`${connector.origin}${connector.pathname}`).toBe(`${base}/dev/world-app`);
    expect(await answer(request.connectorURI, "emmy")).toEqual({ asked: "device", sent: "proof" });
    const completion = await request.pollUntilCompletion({ pollInterval: 10, timeout: 5000 });
    if (!completion.success) throw new Error(completion.error);
    const waiting = send("GET", `/v1/authorize/${made.request_id}?wait=25`);
    expect((await send("POST", `${link}/proof`, completion.result, fromPage)).status).toBe(200);
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
