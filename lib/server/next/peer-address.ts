/**
 * The address at the other end of the client's connection. Another process of the server, and Next, learn it from a
 * header that no client can write, because it has a secret in it.
 */
import type { IncomingMessage } from "node:http";
import { PEER_HEADER, peerFromHeader } from "#lib/api/http/client-ip";

/** Clients whose requests came through another process. */
const vouchedFor = new WeakMap<IncomingMessage, string>();

export function peerOf(incoming: IncomingMessage): string {
  return vouchedFor.get(incoming) ?? incoming.socket.remoteAddress ?? "unknown";
}

/** The header's value. */
export const vouch = (incoming: IncomingMessage, peerSecret: string) => `${peerSecret} ${peerOf(incoming)}`;

/** For Next, in this process. */
export function vouchForPeer(incoming: IncomingMessage, peerSecret: string): void {
  incoming.headers[PEER_HEADER] = vouch(incoming, peerSecret);
  // Next would write the socket's, and a socket between processes has none.
  incoming.headers["x-forwarded-for"] ??= peerOf(incoming);
}

/** For a request that another process hands on: believes it about the address. False: it is none of ours. */
export function takeHandedOn(incoming: IncomingMessage, peerSecret: string): boolean {
  const peer = peerFromHeader(incoming.headers[PEER_HEADER]?.toString() ?? null, peerSecret);
  if (peer === undefined) return false;
  vouchedFor.set(incoming, peer);
  return true;
}
