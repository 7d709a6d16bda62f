/** Who decided a request, for its organization alone: the object itself has no names. */
import { asc, eq, inArray, sql } from "drizzle-orm";
import type { PersonDecision } from "#lib/api/schemas/portal";
import type { Executor } from "#lib/db/client";
import { approvals, approvers } from "#lib/db/schema";
import { type Approval, isPasskeyApproval } from "#lib/protocol/approval/approval";
import { describeAmendment } from "#lib/protocol/approval/decided-words";
import { type Facts, factsOfRequest } from "#lib/protocol/record/facts";
import type { Context } from "#lib/services/approvals/context";
import { chooseEnvironment } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  describeRequired,
  parseContext,
  parseDecidedBy,
  parseGroupNames,
  parseRequest,
  parseRequestedBy,
  readBefore,
} from "#lib/services/approvals/rows";

const shownName = sql<string | null>`coalesce(${approvers.name}, ${approvers.email})`;

async function readDenier(executor: Executor, row: AuthorizationRow): Promise<PersonDecision[]> {
  if (row.status !== "denied" || row.decided_at === null) return [];
  const [person] =
    row.denied_by === null
      ? []
      : await executor.select({ who: shownName }).from(approvers).where(eq(approvers.id, row.denied_by));
  const by = row.denied_by === null ? "the link" : "passkey";
  return [{ decision: "denied", who: person?.who ?? null, by, at: row.decided_at.toISOString() }];
}

/** Lists who approved, oldest first, or denied: nobody if a rule, a standing approval or a freeze decided. */
export async function readDeciders(executor: Executor, row: AuthorizationRow): Promise<PersonDecision[]> {
  const given = await executor
    .select({
      who: shownName,
      records: approvals.records,
      approverId: approvals.approver_id,
      nullifier: approvals.nullifier_hash,
      at: approvals.created_at,
    })
    .from(approvals)
    .leftJoin(approvers, eq(approvers.id, approvals.approver_id))
    .where(eq(approvals.request_id, row.id))
    .orderBy(asc(approvals.created_at), asc(approvals.id));
  const deputyFor = (records: string) =>
    (JSON.parse(records) as Approval[]).filter(isPasskeyApproval)[0]?.deputy_for;
  const replaced = given.flatMap(({ records }) => deputyFor(records) ?? []);
  const names =
    replaced.length === 0
      ? []
      : await executor
          .select({ id: approvers.id, who: shownName })
          .from(approvers)
          .where(inArray(approvers.id, replaced));
  const nameWith = (who: string | null, records: string) => {
    const id = deputyFor(records);
    const other = names.find((one) => one.id === id)?.who ?? "another approver";
    return id === undefined ? who : `${who ?? "A person"}, as deputy of ${other}`;
  };
  const approved = given.map(
    ({ who, records, approverId, nullifier, at }): PersonDecision => ({
      decision: "approved",
      who: nameWith(who, records),
      by: approverId === null ? "World ID" : nullifier === null ? "passkey" : "World ID and passkey",
      at: at.toISOString(),
    }),
  );
  const isByPeople = parseDecidedBy(row)?.kind === "people";
  return isByPeople ? [...approved, ...(await readDenier(executor, row))] : approved;
}

export async function readRequestFacts(context: Context, row: AuthorizationRow): Promise<Facts> {
  const request = parseRequest(row);
  const before = await readBefore(context.database.db, row);
  const by = request.amends?.by;
  const [amender] =
    by === undefined
      ? []
      : await context.database.db.select({ who: shownName }).from(approvers).where(eq(approvers.id, by));
  const deciders = row.status === "pending" ? [] : await readDeciders(context.database.db, row);
  return factsOfRequest({
    ...request,
    context: parseContext(row),
    requester: parseRequestedBy(row)?.requester,
    changed:
      request.amends && before
        ? describeAmendment({ amends: request.amends, before: before.request, now: request }, amender?.who)
        : null,
    status: row.status,
    decided_by: parseDecidedBy(row),
    decided_at: row.decided_at?.toISOString(),
    approvals: { given: row.given, required: row.approvals_required },
    groups: describeRequired(request, parseGroupNames(row)),
    people: deciders.map(({ who, by, at }) => ({ name: who, way: by, at })),
    environment: chooseEnvironment(context, row),
  });
}
