/**
 * Requests through the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), which Node's own `fetch` reads
 * only in newer versions, and only if it is set to. The other half of `#platform/fetch` is portable.ts. Node itself
 * reads NODE_EXTRA_CA_CERTS.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { checkServerIdentity, TLSSocket } from "node:tls";
import { HttpProxyAgent } from "http-proxy-agent";
import { HttpsProxyAgent } from "https-proxy-agent";
import { getProxyForUrl } from "proxy-from-env";

type TunnelOptions = Parameters<HttpsProxyAgent<string>["connect"]>[1] & { servername?: string };

class Tunnel extends HttpsProxyAgent<string> {
  /**
   * The library passes a proxy's refusal on as if the server had answered: a proxy could forge answers of the service. And
   * it would compare the certificate of a server without a name with "localhost".
   */
  override async connect(request: ClientRequest, options: TunnelOptions): Promise<Socket> {
    const name = options.servername || options.host || "";
    let status: number | undefined;
    request.once("proxyConnect", (answer: { statusCode: number }) => {
      status = answer.statusCode;
    });
    const checked = {
      ...options,
      checkServerIdentity: (_: string, certificate: Parameters<typeof checkServerIdentity>[1]) =>
        checkServerIdentity(name, certificate),
    };
    const socket = await super.connect(request, checked);
    if (socket instanceof TLSSocket) return socket;
    socket.destroy();
    throw new Error(`the proxy refused to connect (HTTP ${status})`);
  }
}

/** Requests to this machine never go through a proxy, which would get the key in the clear, and has another loopback. */
const isLoopback = ({ hostname }: URL) =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);

/** Undefined: without a proxy. */
export function findProxyAgent(url: string): Agent | undefined {
  const asked = new URL(url);
  const proxy = isLoopback(asked) ? "" : getProxyForUrl(asked);
  if (proxy === "") return undefined;
  if (!/^https?:\/\//i.test(proxy) || !URL.canParse(proxy))
    throw new TypeError("HTTPS_PROXY, HTTP_PROXY or ALL_PROXY: must begin with http:// or https://");
  return asked.protocol === "https:" ? new Tunnel(proxy) : new HttpProxyAgent(proxy);
}

/** `fetch` through the environment's proxy; null if the URL needs none. */
export function fetchThroughProxy(url: string | URL | Request, init?: RequestInit): Promise<Response> | null {
  const agent = findProxyAgent(url instanceof Request ? url.url : String(url));
  if (agent === undefined) return null;
  const request = new Request(url, init);
  const signal = init?.signal ?? request.signal;
  return send(request, agent, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new TypeError("fetch failed", { cause });
  });
}

async function send(request: Request, agent: Agent, signal: AbortSignal): Promise<Response> {
  const { url, method } = request;
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  const length = body === undefined ? {} : { "content-length": body.length };
  const headers = { "user-agent": "node", ...Object.fromEntries(request.headers), ...length };
  const start = url.startsWith("https:") ? requestHttps : requestHttp;
  const answer = await new Promise<IncomingMessage>((done, fail) => {
    const sent = start(url, { method, headers, agent, signal });
    sent.once("response", done).on("error", fail).end(body);
  });
  const { statusCode: status = 0, headers: answered } = answer;
  const isRedirect = [301, 302, 303, 307, 308].includes(status) && answered.location !== undefined;
  if (isRedirect && request.redirect !== "manual") {
    answer.destroy();
    return redirect(request, new URL(answered.location ?? "", url), signal);
  }
  return toResponse(answer, status);
}

const maxRedirects = 5;
const redirects = new WeakMap<Request, number>();

/** Follows reads only, and gives no other server the key. */
async function redirect(from: Request, to: URL, signal: AbortSignal): Promise<Response> {
  const count = (redirects.get(from) ?? 0) + 1;
  if (from.redirect === "error" || !/^(GET|HEAD)$/.test(from.method) || count > maxRedirects)
    throw new Error("unexpected redirect");
  const headers = new Headers(from.headers);
  if (to.origin !== new URL(from.url).origin) headers.delete("authorization");
  const next = new Request(to, { method: from.method, headers, signal });
  redirects.set(next, count);
  const agent = findProxyAgent(next.url);
  return agent === undefined ? fetch(next) : send(next, agent, signal);
}

function toResponse(answer: IncomingMessage, status: number): Response {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value);
  const isEmpty = [204, 205, 304].includes(status);
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}

/** Serves programs whose libraries call the global fetch. */
export function proxyGlobalFetch(): void {
  const direct = globalThis.fetch;
  globalThis.fetch = (url, init) => fetchThroughProxy(url, init) ?? direct(url, init);
}
