/** Who asks, when only headers are at hand: server components and server actions. */
import { clientAddress, isFromThisMachine } from "#lib/api/http/client-ip";
import type { App } from "#lib/server/app";

const bare = (headers: Headers) => new Request("http://localhost", { headers });

export const requestAddress = ({ env, peerSecret }: App, headers: Headers): string =>
  clientAddress(bare(headers), peerSecret, env);

/** Other machines can't see the pages of the stand-ins. */
export const isOwnRequest = ({ env, peerSecret }: App, headers: Headers): boolean =>
  isFromThisMachine(bare(headers), peerSecret, env);
