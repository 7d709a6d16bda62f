/** Opens what the settings ask for, and loads nothing else: the libraries cost a quarter of a second and 15 MB. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Env } from "#lib/env";
import { inTime } from "#lib/in-time";
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
  const { createGauges, openMetrics } = await import("./metrics");
  const metrics = openMetrics(processName, createGauges(context, readsDatabase));
  return {
    readMetrics: metrics.read,
    close: async () => {
      metrics.close();
      await endTraces();
    },
  };
}

/*
 * GET /metrics on a port of its own, so that a proxy rule for the service doesn't publish it by accident. A server of several
 * processes answers for all of them; each labels its metrics with its name, and one that doesn't answer is shown as down.
 */

export interface Member {
  name: string;
  read(): Promise<string> | null;
}

type Listening = Pick<Env, "METRICS_PORT" | "METRICS_HOST">;

const patienceMs = 5_000;

/** Metrics of one name must stand together, so each block goes to those of the same name. */
export function mergeMetrics(texts: readonly string[]): string {
  const blocks = new Map<string, { head: string; values: string[] }>();
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const [, head = "", name = "", values = ""] =
      /^(# HELP (\S+).*\n# TYPE .*\n)([\s\S]*)$/.exec(block) ?? [];
    const known = blocks.get(name) ?? { head, values: [] };
    known.values.push(...values.split("\n").filter(Boolean));
    blocks.set(name, known);
  }
  blocks.delete("");
  return [...blocks.values()].map(({ head, values }) => `${head}${values.join("\n")}\n`).join("\n");
}

async function readMember({ read }: Member): Promise<string | null> {
  const asked = read();
  return asked && inTime(asked, patienceMs).catch(() => null);
}

async function readAll(members: readonly Member[]): Promise<string> {
  const texts = await Promise.all(members.map(readMember));
  const values = members.map(
    ({ name }, i) => `countersign_process_up{process="${name}"} ${texts[i] === null ? 0 : 1}`,
  );
  const up = `# HELP countersign_process_up 1 if the process answers.\n# TYPE countersign_process_up gauge\n${values.join("\n")}\n`;
  return mergeMetrics([up, ...texts.filter((text) => text !== null)]);
}

export async function serveMetrics(
  { METRICS_PORT: port, METRICS_HOST: host }: Listening,
  members: readonly Member[],
): Promise<Server | null> {
  if (port === undefined) return null;
  const server = createServer((incoming, outgoing) => {
    if (incoming.method !== "GET" || incoming.url !== "/metrics") {
      outgoing.writeHead(404).end();
      return;
    }
    void readAll(members).then((text) => {
      outgoing.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text);
    });
  });
  server.listen({ port, host, exclusive: true });
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    const where = `METRICS_PORT ${port} of METRICS_HOST ${host}`;
    throw new Error(`Countersign cannot start: ${where} can't be bound (${cause.code})`, { cause });
  });
  return server;
}
