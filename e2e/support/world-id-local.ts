/** For tests only: the stand-in behind a fetch of its own, and IDKit's real WASM talking to it. */
import { readFileSync } from "node:fs";
import { deviceLegacy, IDKit, proofOfHuman } from "@worldcoin/idkit";
import type { LocalWorldId } from "#lib/emulators/world-id";

export const testBaseUrl = "http://localhost:4599";
export const testRpKey = "11".repeat(32);

/** Serves the stand-in's handlers at their paths, and `file:` URLs as Node's own fetch cannot. */
export function serveLocally(getWorld: () => LocalWorldId): typeof fetch {
  return async (input, init) => {
    const request = input instanceof Request ? input : new Request(input, init);
    const url = new URL(request.url);
    if (url.protocol === "file:") {
      return new Response(readFileSync(url), { headers: { "content-type": "application/wasm" } });
    }
    if (url.origin !== testBaseUrl) throw new TypeError(`no request may leave the machine: ${url.href}`);
    const response = await route(getWorld(), request, url);
    return Object.defineProperty(response, "url", { value: request.url }); // the WASM parses it
  };
}

async function route(
  { bridge, portal, worldApp }: LocalWorldId,
  request: Request,
  url: URL,
): Promise<Response> {
  const id = decodeURIComponent(url.pathname.split("/").at(-1) ?? "");
  const path = url.pathname;
  if (path === "/request") return bridge.createRequest(request);
  if (path.startsWith("/request/")) {
    return request.method === "HEAD"
      ? bridge.hasRequest(request, { id })
      : bridge.takeRequest(request, { id });
  }
  if (path.startsWith("/response/")) {
    return request.method === "PUT"
      ? bridge.putResponse(request, { id })
      : bridge.takeResponse(request, { id });
  }
  if (path.startsWith("/dev/world-portal/api/v4/verify/")) return portal(request, { id });
  if (path === "/dev/world-app/api/request") return worldApp.readRequest(request);
  if (path === "/dev/world-app/api/response") return worldApp.sendResponse(request);
  return new Response(null, { status: 404 });
}

/** As the page does: a fresh RP signature, the preset of the level. */
export async function openIdkit(
  world: LocalWorldId,
  action: string,
  signal: string,
  level: "device" | "orb",
) {
  const preset = level === "orb" ? proofOfHuman({ signal }) : deviceLegacy({ signal });
  const request = await IDKit.request({
    ...world.provider.idkitConfig,
    action,
    rp_context: world.provider.signRequest(action),
    allow_legacy_proofs: true,
  }).preset(preset);
  const { searchParams } = new URL(request.connectorURI);
  const link = { i: searchParams.get("i") ?? "", k: searchParams.get("k") ?? "" };
  const read = () =>
    world.worldApp.readRequest(
      new Request(`${testBaseUrl}/dev/world-app/api/request?${new URLSearchParams(link)}`),
    );
  const send = (answer: object) =>
    world.worldApp.sendResponse(
      new Request(`${testBaseUrl}/dev/world-app/api/response`, {
        method: "POST",
        body: JSON.stringify({ ...link, ...answer }),
      }),
    );
  return { request, link, read, send };
}
