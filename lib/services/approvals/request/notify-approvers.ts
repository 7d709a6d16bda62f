/**
 * People whom a request names, and the notices that they get of it. A trigger of the requests' table writes those about its
 * decision.
 */
import { and, eq, inArray, isNotNull, ne, or, sql } from "drizzle-orm";
import { type Executor, queryRows } from "#lib/db/client";
import { approvers, requestApprovers } from "#lib/db/schema";
import { fieldError } from "#lib/errors";
import { findDeputies, readTurns } from "#lib/services/accounts/approver-groups";

/**
 * Runs in the organization's transaction. `names`: names or ids; null: its default group, if it has one. Returns minutes by
 * person.
 */
async function findNamed(
  tx: Executor,
  organizationId: string,
  names: readonly string[] | null,
): Promise<Map<string, number>> {
  if (names?.length === 0) return new Map();
  const isNamed =
    names === null
      ? approvers.is_default
      : or(inArray(approvers.name, [...names]), inArray(sql`${approvers.id}::text`, [...names]));
  const found = await tx
    .select({ id: approvers.id, name: approvers.name, email: approvers.email })
    .from(approvers)
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        isNotNull(approvers.name),
        ne(approvers.status, "removed"),
        isNamed,
      ),
    );
  const unknown = (names ?? []).findIndex(
    (name) => !found.some((one) => one.name === name || one.id === name),
  );
  if (unknown >= 0)
    throw fieldError(
      "validation_error",
      `approvers.${unknown}`,
      "is not the name or id of an approver or group of your organization",
    );
  const groups = found.flatMap(({ id, email }) => (email === null ? [id] : []));
  const people = found.flatMap(({ id, email }) => (email === null ? [] : [id]));
  return readTurns(tx, { people, groups });
}

/** A quarter of the request's time before it ends, and at most an hour. */
const remindedAt = sql`r.expires_at - least(interval '1 hour', (r.expires_at - r.created_at) / 4)`;

/** The notices of a new request, for everyone who wants them; how many people get the link when this transaction ends. */
export async function notifyApprovers(
  tx: Executor,
  request: { id: string; organizationId: string },
  names: readonly string[] | null,
): Promise<number> {
  const turns = await findNamed(tx, request.organizationId, names);
  for (const { id, replaced } of await findDeputies(tx, [...turns.keys()]))
    turns.set(id, Math.min(turns.get(replaced) ?? 0, turns.get(id) ?? Number.POSITIVE_INFINITY));
  if (turns.size > 0)
    await tx
      .insert(requestApprovers)
      .values([...turns.keys()].map((approver_id) => ({ request_id: request.id, approver_id })));
  const delays = JSON.stringify(Object.fromEntries(turns));
  const turn = sql`clock_timestamp() + make_interval(mins => coalesce((${delays}::jsonb ->> a.approver_id::text)::int, 0))`;
  const written = await queryRows<{ kind: string }>(
    tx,
    sql`
    INSERT INTO notices (request_id, kind, approver_id, organization_id, status, next_attempt_at)
    SELECT a.request_id, k.kind, a.approver_id, a.organization_id, 'pending', k.due
    FROM request_audience a JOIN shown_requests r ON r.id = a.request_id
    CROSS JOIN LATERAL (VALUES ('waiting', a.waiting, ${turn}), ('reminder', a.reminder, ${remindedAt}))
      AS k (kind, is_wanted, due)
    WHERE a.request_id = ${request.id} AND k.is_wanted AND k.due < r.expires_at
    RETURNING kind`,
  );
  return written.filter(({ kind }) => kind === "waiting").length;
}
