/** The client's address where only headers are at hand: server components and server actions. */
import { clientAddress } from "./client-ip";
import type { App } from "./context";

export function requestAddress({ env, peerSecret }: App, headers: Headers): string {
  return clientAddress(new Request("http://localhost", { headers }), peerSecret, env);
}
