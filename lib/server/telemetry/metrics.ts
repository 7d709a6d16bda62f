/** The metrics of one process, in Prometheus' text format. Loaded only if METRICS_PORT is set. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { inTime } from "#lib/in-time";
import { type Happening, happened, type Step, stepEnded } from "#lib/instrumentation";
import { readUnpublished } from "#lib/log/reading/compact";
import { countLostText } from "#lib/log/records/record-snapshot";
import type { Context } from "#lib/services/approvals/context";

/* Gauges that are not counted as things happen but looked up when somebody asks. */

export interface Reading {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Gauges {
  known: readonly { name: string; help: string; labels: readonly string[] }[];
  read(): Promise<Reading[]>;
}

const ofProcess = [
  { name: "jobs_running", help: "Costly proofs that run now.", labels: [] },
  { name: "jobs_waiting", help: "Costly proofs that wait for a thread.", labels: [] },
] as const;

/** Gauges of the database, which all processes share: one of them reads it. */
const ofDatabase = [
  { name: "database_up", help: "1 if the database answered in time, else 0.", labels: [] },
  { name: "database_seconds", help: "How long the database took to answer this.", labels: [] },
  { name: "database_connections", help: "Open connections of this service, by state.", labels: ["state"] },
  { name: "database_connections_allowed", help: "PostgreSQL's max_connections.", labels: [] },
  { name: "log_size", help: "Entries in the log.", labels: [] },
  { name: "checkpoint_age_seconds", help: "Since the log's newest checkpoint.", labels: [] },
  { name: "unrecorded_leaves", help: "Leaves that should be in a record and are in none.", labels: [] },
  { name: "witness_lag_entries", help: "Entries that a witness hasn't cosigned.", labels: ["witness"] },
  {
    name: "cosignature_age_seconds",
    help: "Since a witness last cosigned, or the log began.",
    labels: ["witness"],
  },
  {
    name: "unwitnessed_entries",
    help: "Entries of which no checkpoint has as many cosignatures as WITNESSES asks for.",
    labels: [],
  },
  {
    name: "unwitnessed_seconds",
    help: "Since a checkpoint last had as many cosignatures, or the log began.",
    labels: [],
  },
  { name: "unstamped_entries", help: "Entries that a time-stamp authority hasn't stamped.", labels: ["tsa"] },
  {
    name: "time_stamp_age_seconds",
    help: "Since a time-stamp authority last stamped the log, or the log began.",
    labels: ["tsa"],
  },
  { name: "outbox_waiting", help: "Webhooks and mails to send.", labels: ["outbox"] },
  { name: "outbox_oldest_seconds", help: "Age of the oldest of them; 0 if none waits.", labels: ["outbox"] },
] as const;

const ofStore = [
  { name: "unpublished_entries", help: "Entries that LOG_STORE doesn't have.", labels: [] },
  { name: "unpublished_seconds", help: "Age of the oldest of them; 0 if there is none.", labels: [] },
] as const;

const readAll = `
  WITH head AS (SELECT id, size, created_at FROM logs ORDER BY id DESC LIMIT 1),
  witnessed AS (
    SELECT s.size, max(coalesce(s.renewed_at, s.created_at)) AS cosigned_at
    FROM head JOIN log_cosignatures s ON s.log_id = head.id AND s.witness = ANY($1::text[])
    GROUP BY s.size HAVING meets_quorum(array_agg(s.witness), $2::text::jsonb) ORDER BY s.size DESC LIMIT 1
  ),
  webhooks AS (
    SELECT count(*) AS waiting, min(d.created_at) AS oldest FROM webhook_deliveries d
    JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.disabled_at IS NULL
    JOIN organizations o ON o.id = e.organization_id AND o.deleted_at IS NULL WHERE d.status = 'pending'
  ), mails AS (SELECT count(*) AS waiting, min(created_at) AS oldest FROM notices WHERE status = 'pending')
  SELECT 'log_size' AS name, NULL AS label, size::float8 AS value FROM head
  UNION ALL SELECT 'checkpoint_age_seconds', NULL, extract(epoch FROM clock_timestamp() - c.created_at)::float8
    FROM head JOIN log_checkpoints c ON c.log_id = head.id AND c.size = head.size
  UNION ALL SELECT 'unrecorded_leaves', NULL, lost::float8 FROM (${countLostText}) AS counted
  UNION ALL SELECT 'witness_lag_entries', w.name, (head.size - coalesce(s.size, 0))::float8
    FROM head CROSS JOIN unnest($1::text[]) AS w(name) LEFT JOIN LATERAL (
      SELECT size FROM log_cosignatures WHERE log_id = head.id AND witness = w.name ORDER BY size DESC LIMIT 1
    ) AS s ON true
  UNION ALL SELECT 'cosignature_age_seconds', w.name,
      extract(epoch FROM clock_timestamp() - coalesce(s.renewed_at, s.created_at, head.created_at))::float8
    FROM head CROSS JOIN unnest($1::text[]) AS w(name) LEFT JOIN LATERAL (
      SELECT created_at, renewed_at FROM log_cosignatures
      WHERE log_id = head.id AND witness = w.name ORDER BY size DESC LIMIT 1
    ) AS s ON true
  UNION ALL SELECT 'unwitnessed_entries', NULL, (head.size - coalesce(witnessed.size, 0))::float8
    FROM head LEFT JOIN witnessed ON true WHERE $2::text IS NOT NULL
  UNION ALL SELECT 'unwitnessed_seconds', NULL,
      extract(epoch FROM clock_timestamp() - coalesce(witnessed.cosigned_at, head.created_at))::float8
    FROM head LEFT JOIN witnessed ON true WHERE $2::text IS NOT NULL
  UNION ALL SELECT named.name, t.label, CASE named.name
      WHEN 'unstamped_entries' THEN (head.size - coalesce(s.size, 0))::float8
      ELSE extract(epoch FROM clock_timestamp() - coalesce(s.created_at, head.created_at))::float8 END
    FROM head CROSS JOIN unnest($3::text[], $4::text[]) AS t(url, label) LEFT JOIN LATERAL (
      SELECT size, created_at FROM log_timestamps WHERE log_id = head.id AND tsa = t.url ORDER BY size DESC LIMIT 1
    ) AS s ON true CROSS JOIN (VALUES ('unstamped_entries'), ('time_stamp_age_seconds')) AS named(name)
  UNION ALL SELECT 'outbox_waiting', 'webhooks', waiting::float8 FROM webhooks
  UNION ALL SELECT 'outbox_waiting', 'mails', waiting::float8 FROM mails
  UNION ALL SELECT 'outbox_oldest_seconds', 'webhooks',
    coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float8 FROM webhooks
  UNION ALL SELECT 'outbox_oldest_seconds', 'mails',
    coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float8 FROM mails`;

/** Counts a server's connections; behind a pooler, the pooler's. */
const readConnections = `
  SELECT 'database_connections' AS name, coalesce(state, 'unknown') AS label, count(*)::float8 AS value
    FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user GROUP BY state
  UNION ALL SELECT 'database_connections_allowed', NULL, current_setting('max_connections')::float8`;

const patienceMs = 3_000;

interface Row {
  name: string;
  label: string | null;
  value: number;
}

/** Strips a password or query that an address may have. */
function labelOfAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

async function readDatabase({ database, settings }: Context): Promise<Reading[]> {
  const { WITNESSES: policy, TSA_URLS: tsas } = settings;
  const witnesses = policy?.witnesses.map(({ name }) => name) ?? [];
  const quorum = policy === undefined ? null : JSON.stringify(policy.quorum);
  const labelOf = new Map<string, string | undefined>(
    ofDatabase.map(({ name, labels }) => [name, labels[0]]),
  );
  const values = [witnesses, quorum, tsas, tsas.map(labelOfAddress)];
  const rows = (await database.query(readAll, values)).rows as unknown as Row[];
  const ofServer =
    database.kind === "postgres"
      ? ((await database.query(readConnections, [])).rows as unknown as Row[])
      : [];
  return [...rows, ...ofServer].map(({ name, label, value }) => {
    const labelName = labelOf.get(name);
    return { name, labels: labelName && label !== null ? { [labelName]: label } : {}, value };
  });
}

async function readStore({ database, store }: Context): Promise<Reading[]> {
  if (store === null) return [];
  const { entries, seconds } = await readUnpublished(database, store);
  return [plain("unpublished_entries", entries), plain("unpublished_seconds", seconds)];
}

const plain = (name: string, value: number): Reading => ({ name, labels: {}, value });

/** `readsDatabase`: in one process of a server. */
export function createGauges(context: Context, readsDatabase: boolean): Gauges {
  return {
    known: readsDatabase ? [...ofProcess, ...ofDatabase, ...ofStore] : ofProcess,
    read: async () => {
      const { running, waiting } = context.pool.load();
      const jobs = [plain("jobs_running", running), plain("jobs_waiting", waiting)];
      if (!readsDatabase) return jobs;
      const startMs = performance.now();
      const published = inTime(readStore(context), patienceMs).catch(() => []);
      // A scrape must not wait for a database that is gone.
      const readings = await inTime(readDatabase(context), patienceMs).catch(() => null);
      if (readings === null) return [...jobs, plain("database_up", 0)];
      const seconds = (performance.now() - startMs) / 1000;
      const ofServer = [plain("database_up", 1), plain("database_seconds", seconds)];
      return [...jobs, ...readings, ...ofServer, ...(await published)];
    },
  };
}

export interface Metrics {
  read(): Promise<string>;
  close(): void;
}

const second = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

function createInstruments(registers: Registry[]) {
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name: `countersign_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[], buckets = second) =>
    new Histogram({ name: `countersign_${name}`, help, labelNames, buckets, registers });
  return {
    requests: counter("requests_total", "Requests answered, by operation and status.", [
      "operation",
      "status",
    ]),
    requestSeconds: histogram("request_seconds", "Time until a request was answered.", ["operation"]),
    appendSeconds: histogram("append_seconds", "An entry's time until it was in the log.", ["kind"]),
    batchSeconds: histogram("batch_seconds", "Time to sign and store a batch of entries.", ["outcome"]),
    batchEntries: histogram("batch_entries", "Entries of a batch.", [], [1, 2, 5, 10, 25, 50, 100, 250, 500]),
    jobSeconds: histogram("job_seconds", "Costly proofs and images, waiting included.", ["job"]),
    jobs: counter("jobs_total", "Costly proofs and images, by outcome.", ["job", "outcome"]),
    webhooks: counter("webhook_attempts_total", "Attempts to deliver a webhook, by outcome.", ["outcome"]),
    webhookSeconds: histogram("webhook_seconds", "Time of an attempt to deliver a webhook.", []),
    mails: counter("mails_total", "Mails handed over, by outcome.", ["outcome"]),
    worldSeconds: histogram("world_seconds", "Time until World's portal or chain answered.", ["call"]),
    worldCalls: counter("world_calls_total", "Questions to World's portal and chain.", ["call", "outcome"]),
    signatures: counter("signatures_total", "Ed25519 signatures made, by the key's id.", ["key"]),
    limits: counter("limits_refused_total", "Requests over a limit, by the limit's name.", ["limit"]),
    malformedForms: counter("malformed_forms_total", "Forms posted to pages that could not be read.", []),
    rejectedEvents: counter("audit_events_rejected_total", "Audit events that the collector rejected.", []),
    forkGuard: counter(
      "fork_guard_refusals_total",
      "Batches and health checks that the fork guard refused.",
      [],
    ),
  };
}

type Instruments = ReturnType<typeof createInstruments>;

function observe(to: Instruments, { kind, name, attributes, outcome, seconds }: Step): void {
  switch (kind) {
    case "request":
      to.requests.inc({ operation: name, status: String(attributes["status"]) });
      to.requestSeconds.observe({ operation: name }, seconds);
      return;
    case "append":
      to.appendSeconds.observe({ kind: name }, seconds);
      return;
    case "batch":
      to.batchSeconds.observe({ outcome }, seconds);
      to.batchEntries.observe(Number(attributes["entries"]));
      return;
    case "job":
      to.jobs.inc({ job: name, outcome });
      to.jobSeconds.observe({ job: name }, seconds);
      return;
    case "webhook":
      to.webhooks.inc({ outcome });
      to.webhookSeconds.observe(seconds);
      return;
    case "mail":
      to.mails.inc({ outcome });
      return;
    case "world":
      to.worldCalls.inc({ call: name, outcome });
      to.worldSeconds.observe({ call: name }, seconds);
  }
}

function countHappening(to: Instruments, { kind, name }: Happening): void {
  if (kind === "signature") to.signatures.inc({ key: name });
  else if (kind === "limit refused") to.limits.inc({ limit: name });
  else if (kind === "malformed form") to.malformedForms.inc();
  else if (kind === "events rejected") to.rejectedEvents.inc(Number(name));
  else to.forkGuard.inc();
}

/** `processName`: a label on each of them, because each process counts for itself and begins again at zero. */
export function openMetrics(processName: string, gauges: Gauges): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments([registry]);
  const shown = gauges.known.map(({ name, help, labels }) => {
    const gauge = new Gauge({
      name: `countersign_${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
    });
    return [name, gauge] as const;
  });
  const byName = new Map(shown);
  const onEnded = (step: unknown) => observe(instruments, step as Step);
  const onHappened = (happening: unknown) => countHappening(instruments, happening as Happening);
  stepEnded.subscribe(onEnded);
  happened.subscribe(onHappened);
  return {
    read: async () => {
      for (const { name, labels } of gauges.known) {
        byName.get(name)?.reset();
        // The library's reset leaves a zero, which would be a wrong answer while the database is gone.
        if (labels.length === 0) byName.get(name)?.remove();
      }
      for (const { name, labels, value } of await gauges.read()) byName.get(name)?.set(labels, value);
      return registry.metrics();
    },
    close: () => {
      stepEnded.unsubscribe(onEnded);
      happened.unsubscribe(onHappened);
    },
  };
}
