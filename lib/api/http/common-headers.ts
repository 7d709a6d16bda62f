/** Headers of every operation's answer, whichever server it leaves through. */
import type { Env } from "#lib/env";
import type { HttpResponse } from "./messages";
import { dataOnly, everywhere, strictTransport } from "./security-headers";

const exposed =
  "Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const always = lowerCase({ ...everywhere, ...dataOnly });
const overTls = { ...always, ...lowerCase(strictTransport) };
const forEveryone = { "access-control-allow-origin": "*", "access-control-expose-headers": exposed };

export function addCommonHeaders<Kind extends HttpResponse | Response>(
  answer: Kind,
  { baseUrl }: Pick<Env, "baseUrl">,
  requestId: string,
  isForEveryone: boolean,
): Kind {
  const fixed = baseUrl.startsWith("https://") ? overTls : always;
  const added = isForEveryone ? [fixed, forEveryone] : [fixed];
  if (answer instanceof Response) {
    for (const [name, value] of added.flatMap(Object.entries)) answer.headers.set(name, value);
    answer.headers.set("request-id", requestId);
  } else Object.assign(answer.headers, ...added, { "request-id": requestId });
  return answer;
}
