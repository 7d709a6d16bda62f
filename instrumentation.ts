/** Opens database and keys before the first request; inside the production server they are open already. */
export async function register(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: set by Next itself and inlined at build
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { getApp } = await import("#lib/app/app");
  await getApp();
}
