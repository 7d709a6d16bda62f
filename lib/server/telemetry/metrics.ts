/** The metrics of one process, in Prometheus' text format. Loaded only if METRICS_PORT is set. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type Happening, happened, type Step, stepEnded } from "#lib/instrumentation";
import type { Gauges } from "./gauges";

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
