/** The built service on a PostgreSQL of its own, with load on it: what faults happen to. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { type Cluster, startCluster } from "#ci/postgres";
import { obtainKey } from "#e2e/http/server-process";
import { findPort } from "#support/ports";
import { noLimits } from "#support/processes";
import { type Receiver, startReceiver } from "#support/webhook-receiver";
import type { Chance } from "./chance";
import { createClient } from "./clients";
import { runApprovals, runRefusals } from "./decisions";
import { type Instance, superviseInstance } from "./instance";
import { createLedger, type Ledger } from "./ledger";
import { runOperations, type Work } from "./operations";

export interface Stage {
  cluster: Cluster;
  instances: readonly Instance[];
  receiver: Receiver;
  ledger: Ledger;
  work: Work;
  /** The service's. */
  settings: Record<string, string>;
  /** Ends the load; resolves when all that was asked has been answered or given up. */
  endLoad(): Promise<void>;
  close(): Promise<void>;
}

export interface StageOptions {
  /** `PROCESSES` of each instance. */
  instances: readonly number[];
  clients: number;
  /** Each proof takes a second of a processor. */
  withApprovals: boolean;
  chance: Chance;
  /** Lines of postgresql.conf. */
  clusterSettings?: readonly string[];
  /** More of the service's settings, and what each instance is started with. */
  settings?: (cluster: Cluster) => Promise<Record<string, string>>;
}

const settingsOf = (cluster: Cluster, dataDir: string) => ({
  ...noLimits,
  LIMIT_VERIFY_PER_MINUTE: "1000000",
  LIMIT_AUTHORIZE_PER_MINUTE: "1000000",
  LIMIT_AUTHORIZE_PENDING: "10000",
  LIMIT_APPROVE_PER_MINUTE: "1000000",
  LIMIT_READ_AUTHORIZATION_PER_MINUTE: "1000000",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
  DATABASE_URL: cluster.url,
  DATA_DIR: dataDir,
  LOG_LEVEL: "warn",
  AUTH_SECRET: "faults".repeat(8),
});

/** With every scope, and an endpoint that hears of everything. */
async function prepareAccount(base: string, cluster: Cluster, webhookUrl: string) {
  const key = await obtainKey(base, "dev@example.com");
  const sql = postgres(cluster.url, { max: 1 });
  await sql`UPDATE api_keys SET scopes = array_append(scopes, 'erase') WHERE NOT 'erase' = ANY(scopes)`;
  await sql.end();
  const body = {
    url: webhookUrl,
    events: [
      "attestation.created",
      ...["approved", "denied", "cancelled", "expired"].map((status) => `authorization.${status}`),
    ],
  };
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const made = await fetch(`${base}/v1/webhooks`, { method: "POST", headers, body: JSON.stringify(body) });
  if (made.status !== 201) throw new Error(`the webhook was answered ${made.status}: ${await made.text()}`);
  return key;
}

export async function openStage(options: StageOptions): Promise<Stage> {
  const { instances, clients, withApprovals, chance, clusterSettings = ["max_connections=150"] } = options;
  const now = () => performance.now();
  const cluster = await startCluster(clusterSettings);
  const dataDir = await mkdtemp(path.join(tmpdir(), "countersign-faults-"));
  const receiver = await startReceiver();
  const settings: Record<string, string> = {
    ...settingsOf(cluster, dataDir),
    ...(await options.settings?.(cluster)),
  };
  const running: Instance[] = [];
  // The first makes keys and tables, so the others come when it is there.
  for (const processes of instances) {
    const instance = superviseInstance(await findPort(), { ...settings, PROCESSES: String(processes) });
    running.push(instance);
    await instance.ready();
  }
  const bases = running.map(({ base }) => base);
  const key = await prepareAccount(bases[0] ?? "", cluster, receiver.url);
  const ledger = createLedger(now);
  let isOn = true;
  const client = createClient(ledger, now);
  const work: Work = { ledger, client, chance, key, bases, isOn: () => isOn };
  const load = Promise.all([
    ...Array.from({ length: clients }, () => runOperations(work, 60)),
    runRefusals(work, 500),
    ...(withApprovals ? [runApprovals(work, 2_000)] : []),
  ]);
  // Awaited in the end; until then a failure must not end the process.
  load.catch(() => {});
  return {
    cluster,
    instances: running,
    receiver,
    ledger,
    work,
    settings,
    endLoad: async () => {
      isOn = false;
      await load;
    },
    close: async () => {
      await Promise.all(running.map((one) => one.stop()));
      await receiver.close();
      await cluster.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
