/** Opens database and keys before the first request, unless the production server has: it then loads no second copy. */
import { appSlot } from "#lib/app/app-slot";

export async function register(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: set by Next itself and inlined at build
  if (process.env["NEXT_RUNTIME"] !== "nodejs" || appSlot in globalThis) return;
  const { getApp } = await import("#lib/app/app");
  await getApp();
}
