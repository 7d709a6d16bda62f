/**
 * The request log: which operation a known key called, how it was answered and how long that took. It holds nothing of a
 * request's headers, query or body but the slug of the agent, and that only if the request succeeded. A request costs an
 * object in memory; each second, or when there are many, one statement writes what has come together and counts it. All
 * is bounded: what there is no room for is counted as dropped.
 */

import type { OperationSpec } from "#lib/api/operations/operation";
import type { Database } from "#lib/db/client";
import { describeMessage, type Logger } from "#lib/logger";
import { dayMs } from "#lib/protocol/time/time-words";
import { noteMalformedForm } from "./plain-page";
import type { HttpRequest } from "./problem";

export interface LoggedRequest {
  id: string;
  organizationId: string;
  keyId: string;
  /** Milliseconds since 1970. */
  startMs: number;
  /** Duration without the time that the caller asked it to wait. */
  durationMs: number;
  method: string;
  /** The operation's, with names in place of values. */
  path: string;
  status: number;
  code: string | null;
  agentSlug: string | null;
  attested: readonly string[];
}

export interface RequestLog {
  add(request: LoggedRequest): void;
  /** Counts an attestation that no request with a key made. */
  countAttested(organizationId: string, agentSlug: string, atMs: number): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Bounds {
  /** Requests of an organization that are kept each UTC day. */
  perOrganizationPerDay: number;
  /** Limit for one organization until the next write. */
  waitingPerOrganization: number;
  waiting: number;
}

const intervalMs = 1_000;
const writeAt = 500;
const usualBounds = { waitingPerOrganization: 500, waiting: 5_000 };

/** Rows for one statement. Counts of requests that are dropped are kept all the same. */
interface Batch {
  entries: LoggedRequest[];
  /** Keyed by organization and day: requests, and how many of them are in `entries`. */
  days: Map<string, { organization_id: string; day: string; requests: number; logged: number }>;
  counts: Map<string, Count>;
}

interface Count {
  organization_id: string;
  kind: "key" | "agent";
  subject: string;
  day: string;
  total: number;
}

const textOfDay = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);

const newBatch = (): Batch => ({ entries: [], days: new Map(), counts: new Map() });

/** Locks rows in the same order in every process, so that no two deadlock. */
const insertBatch = `WITH given_days AS (
  SELECT * FROM json_to_recordset(($2::text)::json) AS given(organization_id uuid, day date, requests integer, logged integer)
), days AS (
  INSERT INTO daily_requests AS kept (organization_id, day, requests, dropped)
    SELECT organization_id, day, requests, requests - CASE WHEN requests > $4 THEN 0 ELSE logged END
      FROM given_days ORDER BY organization_id, day
    ON CONFLICT (organization_id, day) DO UPDATE SET requests = kept.requests + excluded.requests,
      dropped = kept.dropped + CASE WHEN kept.requests + excluded.requests > $4 THEN excluded.requests
        ELSE excluded.dropped END
    RETURNING organization_id, day, requests
), counts AS (
  INSERT INTO daily_counts AS kept (organization_id, kind, subject, day, total)
    SELECT * FROM json_to_recordset(($3::text)::json)
        AS given(organization_id uuid, kind text, subject text, day date, total integer)
      ORDER BY organization_id, kind, subject, day
    ON CONFLICT (organization_id, kind, subject, day) DO UPDATE SET total = kept.total + excluded.total
)
INSERT INTO request_log (id, organization_id, at, method, path, status, duration_ms, error_code, api_key_id, agent_slug)
  SELECT given.id, given.organization_id, given.at, method, path, status, duration_ms, error_code, api_key_id, agent_slug
  FROM json_to_recordset(($1::text)::json) AS given(id text, organization_id uuid, day date, at timestamptz, method text,
    path text, status integer, duration_ms integer, error_code text, api_key_id uuid, agent_slug text)
  JOIN days ON days.organization_id = given.organization_id AND days.day = given.day AND days.requests <= $4`;

function describeEntry(entry: LoggedRequest) {
  const at = new Date(entry.startMs).toISOString();
  return {
    id: entry.id,
    organization_id: entry.organizationId,
    day: at.slice(0, 10),
    at,
    method: entry.method,
    path: entry.path,
    status: entry.status,
    duration_ms: entry.durationMs,
    error_code: entry.code,
    api_key_id: entry.keyId,
    agent_slug: entry.agentSlug,
  };
}

function count(
  batch: Batch,
  organization_id: string,
  day: number,
  kind: Count["kind"],
  subject: string,
): void {
  const name = `${organization_id} ${day} ${kind} ${subject}`;
  const known = batch.counts.get(name);
  if (known !== undefined) known.total += 1;
  else batch.counts.set(name, { organization_id, kind, subject, day: textOfDay(day), total: 1 });
}

const countAttested = (batch: Batch, organizationId: string, day: number, slug: string) =>
  count(batch, organizationId, day, "agent", slug.toLowerCase());

function addTo(batch: Batch, request: LoggedRequest, bounds: Bounds): void {
  const { organizationId: organization_id, keyId, attested } = request;
  const day = Math.floor(request.startMs / dayMs);
  const name = `${organization_id} ${day}`;
  let ofDay = batch.days.get(name);
  if (ofDay === undefined) {
    ofDay = { organization_id, day: textOfDay(day), requests: 0, logged: 0 };
    batch.days.set(name, ofDay);
  }
  ofDay.requests += 1;
  count(batch, organization_id, day, "key", keyId);
  for (const slug of attested) countAttested(batch, organization_id, day, slug);
  if (ofDay.logged >= bounds.waitingPerOrganization || batch.entries.length >= bounds.waiting) return;
  ofDay.logged += 1;
  batch.entries.push(request);
}

/** The counts of what could not be written; its entries are dropped. */
function takeBack(batch: Batch, failed: Batch): void {
  for (const [name, { organization_id, day, requests }] of failed.days) {
    const ofDay = batch.days.get(name) ?? { organization_id, day, requests: 0, logged: 0 };
    batch.days.set(name, { ...ofDay, requests: ofDay.requests + requests });
  }
  for (const [name, one] of failed.counts)
    batch.counts.set(name, { ...one, total: one.total + (batch.counts.get(name)?.total ?? 0) });
}

export function createRequestLog(
  database: Database,
  logger: Logger,
  given: Pick<Bounds, "perOrganizationPerDay"> & Partial<Bounds>,
): RequestLog {
  const bounds = { ...usualBounds, ...given };
  const insert = database.statement(insertBatch, "write");
  let batch = newBatch();
  let writing: Promise<void> | null = null;

  async function write(): Promise<void> {
    const taken = batch;
    batch = newBatch();
    const json = (rows: Iterable<object>) => JSON.stringify([...rows]);
    const entries = json(taken.entries.map(describeEntry));
    const { perOrganizationPerDay } = bounds;
    await insert(
      entries,
      json(taken.days.values()),
      json(taken.counts.values()),
      perOrganizationPerDay,
    ).catch((error: unknown) => {
      takeBack(batch, taken);
      logger.warn(
        { err: error },
        "part of the request log could not be written; its requests are only counted",
      );
    });
  }

  function flush(): Promise<void> {
    if (writing !== null) return writing.then(flush);
    if (batch.counts.size === 0) return Promise.resolve();
    writing = write().finally(() => {
      writing = null;
    });
    return writing;
  }

  const flushUnlessWriting = () => {
    if (writing === null) void flush();
  };
  const timer = setInterval(flushUnlessWriting, intervalMs);
  timer.unref();
  return {
    add: (request) => {
      addTo(batch, request, bounds);
      if (batch.entries.length >= writeAt) flushUnlessWriting();
    },
    countAttested: (organizationId, agentSlug, atMs) =>
      countAttested(batch, organizationId, Math.floor(atMs / dayMs), agentSlug),
    flush,
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}

/* Collects a request's row for the request log. */

export interface Trace {
  key: Pick<LoggedRequest, "keyId" | "organizationId"> | null;
  body: unknown;
  attested: readonly string[];
  waitedMs: number;
  errorCode: string | null;
}

function readAgentSlug({ body }: Trace): string | null {
  const isNamed = typeof body === "object" && body !== null && "agent_slug" in body;
  return isNamed && typeof body.agent_slug === "string" ? body.agent_slug : null;
}

export function logRequest(
  { clock, requestLog }: { clock: () => Date; requestLog: RequestLog },
  { path }: OperationSpec,
  { method }: HttpRequest,
  trace: Trace,
  answered: Pick<LoggedRequest, "id" | "startMs" | "status">,
): void {
  if (trace.key === null) return;
  const { id, startMs, status } = answered;
  const { keyId, organizationId } = trace.key;
  requestLog.add({
    id,
    organizationId,
    keyId,
    startMs,
    method,
    path,
    status,
    code: trace.errorCode,
    durationMs: clock().getTime() - startMs - trace.waitedMs,
    agentSlug: status < 300 ? readAgentSlug(trace) : null,
    attested: trace.attested,
  });
}

/*
 * Next and libraries print with `console`, in several lines and with whatever a client sent. In the production
 * server that goes through the logger instead: one JSON line each, an error as the logger writes errors, and of
 * the rest text alone, since other values may hold rows and parameters.
 */

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/** Node prints warnings as errors: `(node:71) NodeVersionSupportWarning: …` */
const isNodeWarning = /^\(node:\d+\) /;

function describeText(args: unknown[]): string {
  return args
    .filter((arg) => ["string", "number", "boolean"].includes(typeof arg))
    .map(String)
    .join(" ")
    .trim();
}

export function logConsole(logger: Logger, target: Pick<Console, keyof typeof levels> = console): void {
  for (const [name, level] of Object.entries(levels)) {
    target[name as keyof typeof levels] = (...args: unknown[]) => {
      const err = args.find((arg) => arg instanceof Error);
      const text = describeText(args);
      if (noteMalformedForm(err, text, logger)) return;
      const message = describeMessage(text) || "console";
      logger[isNodeWarning.test(text) ? "warn" : level](err === undefined ? {} : { err }, message);
    };
  }
}
