/**
 * Limits on pages (api.md section 9). A page of Next cannot answer 429, so the production server asks here before
 * it hands a request to Next; where another host runs Next, the page counts for itself and says so in words.
 */
import type { LimitName } from "#lib/contract/operation";
import { AppError } from "#lib/errors";
import { clientAddress } from "./client-ip";
import { getApp } from "./context";
import { enforceLimit, limitPolicy } from "./limits";

/** Set by the production server to the process's secret on requests that it has counted. */
export const COUNTED_HEADER = "x-countersign-counted";

/** An attestation's page and its image run a verification each; an agent's page and feeds read its attestations. */
const limitedPages: readonly [RegExp, LimitName][] = [
  [/^\/verify\/[^/]+\/[^/]+/, "verify"],
  [/^\/agent\/[^/]+/, "feed"],
  [/^\/badge\/[^/]+/, "verify"],
];

export function limitOfPage(pathname: string): LimitName | null {
  return limitedPages.find(([pattern]) => pattern.test(pathname))?.[1] ?? null;
}

function tooManyRequests({ detail, headers }: AppError): Response {
  const seconds = headers["retry-after"] ?? "60";
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Too many requests</title></head><body><main><h1>Too many requests</h1><p>Your address has asked for many pages in a short time (${detail.split(";")[0]}). Try again in ${seconds} seconds. Nothing is wrong with what you wanted to look at.</p></main></body></html>`;
  return new Response(html, {
    status: 429,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      ...headers,
    },
  });
}

async function countRequest(request: Request, name: LimitName): Promise<void> {
  const { context, env, peerSecret } = await getApp();
  const address = clientAddress(request, peerSecret, env);
  await enforceLimit(context, limitPolicy(env, name), address);
}

/** Counts the request; the 429 for a client that has used up the limit, else null. */
export async function refusePage(request: Request, name: LimitName): Promise<Response | null> {
  try {
    await countRequest(request, name);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.errorName === "rate_limit_exceeded") return tooManyRequests(error);
    throw error;
  }
}

/** For a page: counts a request that no production server has counted; throws 429. */
export async function countPage(headers: Headers, name: LimitName): Promise<void> {
  const { peerSecret } = await getApp();
  if (headers.get(COUNTED_HEADER) === peerSecret) return;
  await countRequest(new Request("http://page", { headers }), name);
}
