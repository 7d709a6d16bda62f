/**
 * Opens database and keys before the first request, and does what the production server does before Next, unless that is
 * the server: it then loads no second copy.
 */
import { hasApp } from "#lib/server/singleton";

export async function register(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: set by Next itself and inlined at build
  if (process.env["NEXT_RUNTIME"] !== "nodejs" || hasApp()) return;
  const { guardNextHost } = await import("#lib/server/next/next-host");
  await guardNextHost();
}
