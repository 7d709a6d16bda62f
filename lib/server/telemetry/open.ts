/** Opens what the settings ask for, and loads nothing else: the libraries cost a quarter of a second and 15 MB. */

import type { Env } from "#lib/env";
import type { Context } from "#lib/services/approvals/context";

export interface Telemetry {
  readMetrics(): Promise<string>;
  close(): Promise<void>;
}

/** `readsDatabase`: in one process of a server. */
export async function openTelemetry(
  env: Env,
  context: Context,
  { processName, readsDatabase }: { processName: string; readsDatabase: boolean },
): Promise<Telemetry> {
  const endTraces =
    env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
      ? async () => {}
      : (await import("./traces")).openTraces(env, processName);
  if (env.METRICS_PORT === undefined) return { readMetrics: async () => "", close: endTraces };
  const [{ openMetrics }, { createGauges }] = await Promise.all([import("./metrics"), import("./metrics")]);
  const metrics = openMetrics(processName, createGauges(context, readsDatabase));
  return {
    readMetrics: metrics.read,
    close: async () => {
      metrics.close();
      await endTraces();
    },
  };
}
