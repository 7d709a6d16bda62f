/** The client's address when only headers are at hand: server components and server actions. */
import { clientAddress } from "#lib/door/client-ip";
import type { App } from "./app";

export function requestAddress({ env, peerSecret }: App, headers: Headers): string {
  return clientAddress(new Request("http://localhost", { headers }), peerSecret, env);
}
