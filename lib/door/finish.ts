/** What every answer of an operation carries, whichever server sends it. */
import type { Env } from "#lib/env";
import { dataOnly, everywhere, strictTransport } from "./security-headers";

const always = Object.entries({ ...everywhere, ...dataOnly });
const exposed =
  "Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

export function finishResponse(
  response: Response,
  env: Pick<Env, "baseUrl">,
  requestId: string,
  isForEveryone: boolean,
): Response {
  const { headers } = response;
  for (const [name, value] of always) headers.set(name, value);
  if (env.baseUrl.startsWith("https://")) {
    for (const [name, value] of Object.entries(strictTransport)) headers.set(name, value);
  }
  headers.set("request-id", requestId);
  if (isForEveryone) {
    headers.set("access-control-allow-origin", "*");
    headers.set("access-control-expose-headers", exposed);
  }
  return response;
}
