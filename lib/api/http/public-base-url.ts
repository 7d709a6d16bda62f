/** The address that the service prints in links and commands, without a trailing slash. */
import { plainAddress } from "#lib/protocol/text/host";

/** PUBLIC_BASE_URL, or http://localhost:PORT. Read at each call: one build serves any address. */
export function publicBaseUrl(): string {
  // biome-ignore lint/style/noProcessEnv: proxy.ts runs apart from the app and must not load the whole environment
  const { PUBLIC_BASE_URL, PORT } = process.env;
  return plainAddress(PUBLIC_BASE_URL?.trim() || `http://localhost:${PORT?.trim() || "3000"}`);
}
