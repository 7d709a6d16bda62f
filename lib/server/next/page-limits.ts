/** Limits on what Next answers, and the bodies of its requests. */
import { IncomingMessage, type ServerResponse } from "node:http";
import { enforceLimit, limitPolicy, readBytes } from "#lib/api/http/pipeline";
import { plainPage } from "#lib/api/http/plain-page";
import type { HttpResponse } from "#lib/api/http/problem";
import { clientAddress } from "#lib/api/http/rate-limit";
import type { LimitName } from "#lib/api/operations/operation";
import { AppError, describeError } from "#lib/errors";
import { formatWait } from "#lib/protocol/text/display-text";
import { refuse } from "#lib/server/operations";
import { getApp } from "#lib/server/singleton";
import { readRequest, sendResponse } from "./node-http";

/*
 * The body of a request for a page, read before Next sees the request. Next would keep a body that is still being sent,
 * and a copy of it, for as long as the sender likes.
 */

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

function withBody(incoming: IncomingMessage, bytes: Uint8Array): IncomingMessage {
  const whole = new IncomingMessage(incoming.socket);
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers } = incoming;
  Object.assign(whole, { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers });
  whole.complete = true;
  whole.push(bytes);
  whole.push(null);
  return whole;
}

/** Null: it was too large, too slow or cut off, and that has been answered. */
export async function receiveBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<IncomingMessage | null> {
  if (!hasBody(incoming)) return incoming;
  try {
    return withBody(incoming, await readBytes(readRequest(incoming)));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await sendResponse(await refuse(error), outgoing);
    return null;
  }
}

/*
 * Limits on pages and on everything else that Next answers, whatever the method. A page of Next cannot answer 429, so
 * the production server asks here before it hands a request to Next; if another host runs Next, proxy.ts asks.
 */

/** Set by the production server to the process's secret on requests that it has counted. */
export const COUNTED_HEADER = "x-countersign-counted";

/** An attestation's page and its image run a verification each; an agent's page and feeds read its attestations. */
const ownLimits: readonly [RegExp, LimitName][] = [
  [/^\/verify\/[^/]+\/[^/]+/, "verify"],
  [/^\/agent\/[^/]+/, "feed"],
  [/^\/badge\/[^/]+/, "verify"],
  [/^\/opened\/[^/]+\/file/, "verify"],
];

/** Null: the page has no limit of its own and counts with the other public reads. */
export function limitOfPage(pathname: string): LimitName | null {
  return ownLimits.find(([pattern]) => pattern.test(pathname))?.[1] ?? null;
}

export function explainRefusal({ errorName, detail, headers }: AppError): HttpResponse {
  const wait = formatWait(Number(headers["retry-after"] ?? 60));
  const isLimit = errorName === "rate_limit_exceeded";
  const reason = isLimit
    ? `Too many requests from your address (${detail.split(";")[0]}).`
    : "This server is busy.";
  return plainPage({
    status: describeError(errorName).status,
    title: isLimit ? "Too many requests" : "Busy",
    text: `${reason} Try again in ${wait}. There is nothing wrong with the page you requested.`,
    headers,
  });
}

async function countRequest(request: Request, name: LimitName): Promise<void> {
  const { context, env, peerSecret } = await getApp();
  const address = clientAddress(request, peerSecret, env);
  await enforceLimit(context, limitPolicy(env, name), address);
}

/** Counts the request; the 429 for a client that has used up the limit, else null. */
export async function refusePage(request: Request, name: LimitName): Promise<HttpResponse | null> {
  try {
    await countRequest(request, name);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.errorName === "rate_limit_exceeded") return explainRefusal(error);
    throw error;
  }
}

/** Counts a page's request that no production server has counted; throws 429. */
export async function countPage(headers: Headers, name: LimitName): Promise<void> {
  const { peerSecret } = await getApp();
  if (headers.get(COUNTED_HEADER) === peerSecret) return;
  await countRequest(new Request("http://page", { headers }), name);
}
