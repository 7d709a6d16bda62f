/**
 * Ends a planted request (docs/decisions/0054): what became of it is opened in the log, by the statement that ends it.
 * Nothing else is stored of the decision, and no name.
 */
import { and, eq, gt, isNull, lte, or, type SQL } from "drizzle-orm";
import type { Executor } from "#lib/db/client";
import { looks, plantedRequests, plantedStatements } from "#lib/db/schema";
import { databaseNow, readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { type LogEntry, type LogEntryKind, placedColumns, submitSigned } from "#lib/log/sequencer/entry";
import {
  buildPlantedStatement,
  type PlantedOpening,
  type PlantedOutcome,
  type PlantedSchedule,
  plantedHash,
  plantedOrganization,
} from "#lib/protocol/approval/planted";
import { hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes } from "#lib/protocol/encoding/canonical-json";
import type { Context } from "#lib/services/approvals/context";
import { countApprover, type Enrolled } from "./passkey-approval";

/* A schedule or an opening on its way to the log. */

export interface PlantedDocument {
  document: PlantedSchedule | PlantedOpening;
  organizationId: string;
  groupId: string;
  /** ISO 8601; the end of its schedule. */
  until: string;
  at: string;
}

interface PlantedItem extends LogEntry, PlantedDocument {
  /** Stores what belongs to it, or says why it is refused, before anything is written. */
  apply: (tx: Executor) => Promise<AppError | null>;
}

const plantedKind: LogEntryKind<PlantedItem> = {
  kind: "planted_requests",
  admit: async (tx, items) => {
    const verdicts: (AppError | null)[] = [];
    for (const item of items) verdicts.push(await item.apply(tx));
    return verdicts;
  },
  store: async (tx, placed) => {
    for (const one of placed) {
      const { item } = one;
      await tx.insert(plantedStatements).values({
        ...placedColumns(one),
        hash: hexDecode(plantedHash(item.document)),
        organization_id: item.organizationId,
        kind: "entries" in item.document ? "schedule" : "opening",
        document: canonicalBytes({ ...item.document }),
        group_id: item.groupId,
        until: new Date(item.until),
      });
    }
  },
};

export async function logPlanted(
  context: Pick<Context, "keys" | "log" | "database" | "logger">,
  logged: PlantedDocument,
  apply: PlantedItem["apply"],
): Promise<void> {
  const { document, organizationId, until, at } = logged;
  const statement = {
    digest: plantedHash(document),
    organization: plantedOrganization(organizationId),
    at,
    ...("entries" in document
      ? { kind: "schedule" as const, until }
      : { kind: "opening" as const, schedule: document.schedule }),
  };
  await submitSigned(context as Context, plantedKind, async (): Promise<PlantedItem> => {
    const { signer } = context.keys;
    const payload = buildPlantedStatement({ ...statement, key_id: signer.keyId });
    return { ...logged, apply, build: () => ({ signer, payload }), keyId: signer.keyId };
  });
}

/** The state that an outcome ends. `over`: its time, or its content was erased with what it was made from. */
export const openedFrom = {
  planned: eq(plantedRequests.status, "planned"),
  open: and(eq(plantedRequests.status, "pending"), gt(plantedRequests.expires_at, databaseNow)),
  over: and(
    eq(plantedRequests.status, "pending"),
    or(lte(plantedRequests.expires_at, databaseNow), isNull(plantedRequests.created_at)),
  ),
} satisfies Record<string, SQL | undefined>;

const isOver = () =>
  new AppError("authorization_not_pending", "this authorization request is no longer pending");

export async function openPlanted(
  context: Context,
  id: string,
  outcome: PlantedOutcome,
  { from = "open", enrolled = null }: { from?: keyof typeof openedFrom; enrolled?: Enrolled | null } = {},
): Promise<void> {
  const { db } = context.database;
  const [row] = await db
    .select({ planted: plantedRequests, until: plantedStatements.until })
    .from(plantedRequests)
    .innerJoin(plantedStatements, eq(plantedStatements.hash, plantedRequests.schedule))
    .where(eq(plantedRequests.id, id));
  if (row === undefined) throw isOver();
  const { planted, until } = row;
  const endedAt = await readDatabaseTime(db);
  const document: PlantedOpening = {
    version: 1,
    schedule: hexEncode(planted.schedule),
    entry: { request_id: id, at: planted.at.toISOString(), fact: planted.fact, salt: planted.salt },
    request_hash: planted.request_hash && hexEncode(planted.request_hash),
    outcome,
    ended_at: endedAt.toISOString(),
  };
  const logged = {
    document,
    organizationId: planted.organization_id,
    groupId: planted.group_id,
    until: until.toISOString(),
    at: endedAt.toISOString(),
  };
  const isIt = and(eq(plantedRequests.id, id), openedFrom[from]);
  await logPlanted(context, logged, async (tx) => {
    const held = await tx.select({ id: plantedRequests.id }).from(plantedRequests).where(isIt).for("update");
    if (held.length !== 1) return isOver();
    const refusal = enrolled && (await countApprover(tx, enrolled));
    if (refusal !== null) return refusal;
    const status = outcome === "expired" ? "expired" : "cancelled";
    await tx
      .update(plantedRequests)
      .set({ status, outcome, decided_at: endedAt })
      .where(eq(plantedRequests.id, id));
    // Looks have names.
    await tx.delete(looks).where(eq(looks.request_id, id));
    return null;
  });
}
