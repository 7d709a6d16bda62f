/**
 * The audit log, decisions among it, as OCSF 1.5.0 events over OTLP logs. A row is due from the transaction that writes it until
 * the collector has taken it, so each event is sent at least once; `metadata.uid` tells repetitions apart. The exporter is called
 * directly: a batch processor would drop what it has no room for. docs/operations.md has the classes.
 */
import { and, eq, inArray, isNotNull, lt, lte, sql } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { auditEvents, dailyCounts } from "#lib/db/schema";
import { count } from "#lib/instrumentation";
import { oneAtATime, startInterval } from "#lib/jobs/due-work";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Context } from "#lib/services/approvals/context";

type Row = typeof auditEvents.$inferSelect;

/* Classes: Account Change (3001), Authentication (3002), and API Activity (6003) for everything else. */

const other = 99;
const classes = {
  account: { class_uid: 3001, class_name: "Account Change", category_uid: 3 },
  authentication: { class_uid: 3002, class_name: "Authentication", category_uid: 3 },
  api: { class_uid: 6003, class_name: "API Activity", category_uid: 6 },
} as const;
const categories = { 3: "Identity & Access Management", 6: "Application Activity" } as const;

/** Account Change: create, enable, disable, delete, factor enabled and disabled. Authentication: logon, logoff. */
const activities: Readonly<Record<string, [keyof typeof classes, number]>> = {
  "directory_user.created": ["account", 1],
  "directory_user.activated": ["account", 2],
  "directory_user.deactivated": ["account", 5],
  "directory_user.removed": ["account", 6],
  "member.joined": ["account", 1],
  "member.removed": ["account", 6],
  "passkey.enrolled": ["account", 10],
  "passkey.removed": ["account", 11],
  "session.started": ["authentication", 1],
  "session.ended": ["authentication", 2],
};
/** API Activity: create, read, update, delete. */
const verbs: Readonly<Record<string, number>> = {
  ...{ created: 1, added: 1, requested: 1, proposed: 1, registered: 1, made: 1 },
  ...{ exported: 2, opened: 2 },
  ...{ updated: 3, changed: 3, saved: 3, limited: 3, rotated: 3, claimed: 3 },
  ...{ removed: 4, revoked: 4, deleted: 4, erased: 4 },
};
const nouns: Readonly<Record<string, keyof typeof classes>> = {
  member: "account",
  passkey: "account",
  approver: "account",
  directory_user: "account",
  session: "authentication",
};

function classify(action: string): [keyof typeof classes, number] {
  const [noun = "", verb = ""] = action.split(".");
  const kind = nouns[noun] ?? "api";
  return activities[action] ?? [kind, kind === "api" ? (verbs[verb] ?? other) : other];
}

function describeActor({ actor_kind: kind, actor, detail }: Row): JsonObject {
  const session = isJsonObject(detail) ? detail["session"] : undefined;
  const by =
    kind === "key"
      ? { app_name: "API key", app_uid: actor }
      : kind === "system"
        ? { app_name: "Countersign", app_uid: actor }
        : { user: { name: actor, type_id: 1 } };
  return { ...by, ...(typeof session === "string" && { session: { uid: session } }) };
}

/** Fields in the order that the schema lists them; `unmapped` has what it has no place for. */
export function toOcsf(row: Row): JsonObject {
  const [kind, activity_id] = classify(row.action);
  const { class_uid, class_name, category_uid } = classes[kind];
  const noun = row.action.split(".")[0] ?? "";
  const about: JsonObject =
    kind === "api"
      ? { api: { operation: row.action }, resources: [{ uid: row.subject, type: noun }] }
      : { user: { name: row.subject, type_id: 1 } };
  return {
    activity_id,
    activity_name: row.action,
    category_uid,
    category_name: categories[category_uid],
    class_uid,
    class_name,
    type_uid: class_uid * 100 + activity_id,
    time: row.created_at.getTime(),
    severity_id: 1,
    status_id: 1,
    ...about,
    actor: describeActor(row),
    src_endpoint: row.ip === null ? { name: "countersign" } : { ip: row.ip },
    ...(kind === "authentication" && { service: { name: "Countersign" } }),
    metadata: {
      version: "1.5.0",
      uid: row.id,
      event_code: row.action,
      log_name: "audit",
      tenant_uid: row.organization_id,
      product: { name: "Countersign", vendor_name: "Countersign" },
    },
    ...(isJsonObject(row.detail) && { unmapped: row.detail }),
  };
}

/* The outbox: rows that are due. */

const batchSize = 200;
/** A process that dies with a batch leaves it to the next one after this time; a refused batch waits as long. */
const leaseSeconds = 60;
const roundMs = 1_000;

async function claim(executor: Executor): Promise<Row[]> {
  const due = executor
    .select({ id: auditEvents.id })
    .from(auditEvents)
    .where(lte(auditEvents.export_due_at, sql`now()`))
    .orderBy(auditEvents.export_due_at)
    .limit(batchSize)
    .for("update", { skipLocked: true });
  return executor
    .update(auditEvents)
    .set({ export_due_at: sql`now() + make_interval(secs => ${leaseSeconds})` })
    .where(inArray(auditEvents.id, due))
    .returning();
}

/** Drops events where no collector is set; one that is set later begins with the last week. */
export async function dropUnsent(executor: Executor): Promise<void> {
  await executor
    .update(auditEvents)
    .set({ export_due_at: null })
    .where(
      and(
        isNotNull(auditEvents.export_due_at),
        lt(auditEvents.export_due_at, sql`now() - interval '7 days'`),
      ),
    );
}

export type Send = (events: readonly { atMs: number; body: JsonObject }[]) => Promise<void>;

/** Returns how many were sent; throws if the collector took none. Each stays due until it was taken. */
export async function sendDue({ db }: { db: Executor }, send: Send): Promise<number> {
  const rows = (await claim(db)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (rows.length === 0) return 0;
  await send(rows.map((row) => ({ atMs: row.created_at.getTime(), body: toOcsf(row) })));
  const ids = rows.map(({ id }) => id);
  await db.update(auditEvents).set({ export_due_at: null }).where(inArray(auditEvents.id, ids));
  return rows.length;
}

const ofNobody = "00000000-0000-0000-0000-000000000000";

/** Recorded for a month, so that the doctor can report it: the log and the counter of a process end with it. */
async function recordRejected({ db }: { db: Executor }, total: number): Promise<void> {
  await db
    .insert(dailyCounts)
    .values({
      organization_id: ofNobody,
      kind: "rejected",
      subject: "audit events",
      day: sql`(now() AT TIME ZONE 'UTC')::date`,
      total,
    })
    .onConflictDoUpdate({
      target: [dailyCounts.organization_id, dailyCounts.kind, dailyCounts.subject, dailyCounts.day],
      set: { total: sql`${dailyCounts.total} + excluded.total` },
    });
}

/** Reads events that the collector rejected lately, and those that have waited for it for ten minutes. */
export async function readExportState({ db }: { db: Executor }) {
  const [rejected] = await db
    .select({
      total: sql<number>`coalesce(sum(${dailyCounts.total}), 0)::int`,
      lastDay: sql<string | null>`max(${dailyCounts.day})::text`,
    })
    .from(dailyCounts)
    .where(eq(dailyCounts.kind, "rejected"));
  const [late] = await db
    .select({ total: sql<number>`count(*)::int` })
    .from(auditEvents)
    .where(
      and(
        isNotNull(auditEvents.export_due_at),
        lt(auditEvents.created_at, sql`now() - interval '10 minutes'`),
      ),
    );
  return { rejected: rejected?.total ?? 0, lastDay: rejected?.lastDay ?? null, late: late?.total ?? 0 };
}

type Settings = Pick<Context["settings"], "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT" | "OTEL_SERVICE_NAME">;

/** A collector's partial success: `records` were taken by nobody, and OTLP forbids to send them again. 0: a warning alone. */
export interface PartialSuccess {
  records: number;
  message: string;
}

/** Null for what isn't one of logs. The exporter tells only its diagnostics, as JSON. */
function readPartialSuccess(words: string, given: unknown): PartialSuccess | null {
  if (!words.startsWith("Received Partial Success") || typeof given !== "string") return null;
  const { rejectedLogRecords = 0, errorMessage = "", rejectedSpans } = JSON.parse(given);
  if (rejectedSpans !== undefined) return null;
  return { records: Number(rejectedLogRecords), message: String(errorMessage) };
}

/** Loads the exporter, which costs what that of traces does. */
export async function openExporter(
  settings: Settings,
  note: (partial: PartialSuccess) => void,
): Promise<{ send: Send; close: () => Promise<void> }> {
  const [{ diag, DiagLogLevel }, { OTLPLogExporter }, { resourceFromAttributes }, { findProxyAgent }] =
    await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/exporter-logs-otlp-http"),
      import("@opentelemetry/resources"),
      import("#lib/platform/node-fetch"),
    ]);
  const ignore = () => {};
  const warn = (words: string, given: unknown) => {
    const partial = readPartialSuccess(words, given);
    if (partial !== null) note(partial);
  };
  diag.setLogger(
    { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const url = settings.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT ?? "";
  const agent = findProxyAgent(url);
  const exporter = new OTLPLogExporter({ url, ...(agent && { httpAgentOptions: () => agent }) });
  const resource = resourceFromAttributes({ "service.name": settings.OTEL_SERVICE_NAME });
  const instrumentationScope = { name: "countersign.audit" };
  const send: Send = (events) =>
    new Promise((done, fail) => {
      const records = events.map(({ atMs, body }) => {
        const hrTime: [number, number] = [Math.floor(atMs / 1000), (atMs % 1000) * 1_000_000];
        return {
          hrTime,
          hrTimeObserved: hrTime,
          severityNumber: 9,
          severityText: "INFO",
          eventName: "ocsf",
          body,
          resource,
          instrumentationScope,
          attributes: {},
          droppedAttributesCount: 0,
        };
      });
      exporter.export(records, ({ code, error }) =>
        code === 0 ? done() : fail(error ?? new Error("the collector refused the events")),
      );
    });
  return { send, close: () => exporter.shutdown() };
}

/** Off unless the settings name a collector of logs. Returns the function that ends it. */
export function startAuditExport(context: Context): () => Promise<void> {
  if (context.settings.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT === undefined) return async () => {};
  let rejected = 0;
  const opening = openExporter(context.settings, ({ records, message }) => {
    rejected += records;
    if (records > 0) count("events rejected", String(records));
    context.logger.warn(
      { records, says: message },
      records > 0
        ? "the collector rejected audit events: they aren't sent again, and are in GET /v1/audit"
        : "the collector took the audit events with a warning",
    );
  });
  async function work(isStopped: () => boolean): Promise<void> {
    const { send } = await opening;
    let sent = batchSize;
    while (!isStopped() && sent === batchSize) {
      sent = await sendDue(context.database, send);
      if (rejected > 0) await recordRejected(context.database, rejected);
      rejected = 0;
    }
  }
  const stop = startInterval(roundMs, oneAtATime(work), (error) =>
    context.logger.warn(
      { err: error },
      "audit events could not be sent to the collector; they are sent again",
    ),
  );
  return async () => {
    await stop();
    await opening.then(({ close }) => close()).catch(() => {});
  };
}
