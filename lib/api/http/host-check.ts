/** The production server's first step: is the request for this service at all? */
import type { IncomingMessage } from "node:http";
import type { Env } from "#lib/env";
import { forwardedEntry, isTrustedProxy } from "./client-ip";
import type { HttpResponse } from "./messages";
import { type HostClaim, listOwnHosts, refuseHost, requireOwnHost } from "./own-host";

/** Null: it is, and its target and headers are as everything behind may believe them. Else the refusal. */
export type CheckHost = (incoming: IncomingMessage) => HttpResponse | null;

const absoluteForm = /^https?:\/\/([^/?#]*)\/?/i;

/** Headers that say what a proxy saw; Next and next-auth would believe anyone's. */
const forwardingHeaders = ["x-forwarded-host", "x-forwarded-port", "x-forwarded-proto"] as const;

function hostHeaders(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === "host");
}

/** The outermost trusted proxy's entry; proxies that replace instead of adding leave one. */
function readForwardedHost(incoming: IncomingMessage, env: Env): string | undefined {
  const header = incoming.headers["x-forwarded-host"]?.toString();
  if (header === undefined || !isTrustedProxy(incoming.socket.remoteAddress ?? "", env)) return undefined;
  return forwardedEntry(header, env.TRUSTED_PROXY_HOPS) ?? header.split(",")[0]?.trim();
}

export function createHostCheck(env: Env): CheckHost {
  const own = listOwnHosts(env.baseUrl, env.PORT);
  const protocol = new URL(env.baseUrl).protocol.slice(0, -1);
  return (incoming) => {
    const sent = incoming.url ?? "/";
    const target = sent.replace(absoluteForm, "/");
    const claim: HostClaim = {
      hosts: hostHeaders(incoming.rawHeaders),
      targetAuthority: absoluteForm.exec(sent)?.[1],
      forwardedHost: readForwardedHost(incoming, env),
      path: target.split("?")[0] ?? "/",
    };
    let host: string;
    try {
      host = requireOwnHost(claim, own);
    } catch (error) {
      return refuseHost(error, own);
    }
    incoming.url = target;
    const { headers } = incoming;
    // To delete what is not there would make every later look at the headers slower.
    for (const name of forwardingHeaders) if (name in headers) delete headers[name];
    headers.host = host;
    headers["x-forwarded-proto"] = protocol;
    return null;
  };
}
