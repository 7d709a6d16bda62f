/** The whole server in one process. */
import type { RequestListener } from "node:http";
import { stopServers, untilStop } from "#lib/api/http/listen";
import { logConsole } from "#lib/api/http/request-log";
import type { Env } from "#lib/env";
import { logger } from "#lib/logger";
import { openApp } from "#lib/server/app";
import { createRequestListener } from "#lib/server/next/listener";
import { openTelemetry, serveMetrics } from "#lib/server/telemetry/open";

export async function startAlone(env: Env, openPages: () => Promise<RequestListener>): Promise<void> {
  logConsole(logger);
  const { close, context, leave } = await openApp();
  const processName = "server";
  const telemetry = await openTelemetry(env, context, { processName, readsDatabase: true });
  const listen = await createRequestListener(env, { pages: await openPages(), leaving: context.leaving });
  const servers = await listen();
  await serveMetrics(env, [{ name: processName, read: telemetry.readMetrics }]);
  void untilStop(env.STOP_DELAY_SECONDS, leave)
    .then(() => stopServers(servers))
    .then(telemetry.close)
    .then(close)
    .then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "the shutdown failed");
        process.exit(1);
      },
    );
}
