/**
 * Rows of authorization requests. Whether one has expired is decided by the database's clock when it is read, and
 * written down at that moment: the update waits for a decision that is just being made, so that no reader sees
 * "expired" of a request that ends approved.
 */
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { decodeCursor, encodeCursor, makeToken, type PageQuery, readToken } from "#lib/api/http/opaque-text";
import type { AuthorizationState, PreviouslyDenied } from "#lib/api/schemas/authorization-state";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import type { Database, Executor } from "#lib/db/client";
import { agents, approvals, authorizationRequests, organizations, plantedRequests } from "#lib/db/schema";
import { databaseNow } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { hashQuestions, type Question } from "#lib/protocol/approval/amendment";
import type { Approval, ApprovalRequest } from "#lib/protocol/approval/approval";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import type { Decider } from "#lib/protocol/approval/decided-by";
import {
  explainMistake,
  type Mistake,
  type PlantedFact,
  type PlantedOutcome,
} from "#lib/protocol/approval/planted";
import { listDetails } from "#lib/protocol/approval/shown-content";
import { authorizationRequestIdPattern, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { explainBriefly, explainRules, quoteRules } from "#lib/protocol/policy/explain-rules";
import type { RuleContext } from "#lib/protocol/policy/rule-context";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import type { RuleRecord } from "#lib/services/approvals/request/evaluate-policy";
import type { Context } from "./context";

export const authorizationNotFound = () =>
  new AppError("authorization_not_found", "no authorization request has this id");

export const isOpen = and(
  eq(authorizationRequests.status, "pending"),
  gt(authorizationRequests.expires_at, databaseNow),
);
/** True for an approval that can still be claimed and used: the database's function, which every caller uses. */
export const isUsable = sql<boolean>`is_usable(${authorizationRequests})`;
/** True for an approval that can be taken back: also one that can't be used for another reason. */
export const isRevocable = and(
  eq(authorizationRequests.status, "approved"),
  isNull(authorizationRequests.attestation_id),
  isNull(authorizationRequests.revoked_at),
);
const isOverdue = and(
  eq(authorizationRequests.status, "pending"),
  lte(authorizationRequests.expires_at, databaseNow),
);

const approvalsGiven = sql<number>`(SELECT count(*)::int FROM ${approvals} WHERE ${approvals.request_id} = ${authorizationRequests.id})`;

/** Outlives the erasure of the approvals' content: TEST stays TEST. */
const approvedIn = sql<WorldEnvironment | null>`(SELECT min(${approvals.environment}) FROM ${approvals} WHERE ${approvals.request_id} = ${authorizationRequests.id})`;

function selectRows(executor: Executor) {
  return executor
    .select({
      ...getTableColumns(authorizationRequests),
      given: approvalsGiven,
      approvedIn,
      millisecondsLeft:
        sql`floor(extract(epoch FROM ${authorizationRequests.expires_at} - clock_timestamp()) * 1000)`.mapWith(
          Number,
        ),
      organizationName: organizations.name,
      agentName: agents.name,
      agentFrozenAt: agents.frozen_at,
    })
    .from(authorizationRequests)
    .innerJoin(organizations, eq(organizations.id, authorizationRequests.organization_id))
    .innerJoin(agents, eq(agents.id, authorizationRequests.agent_id));
}

/** The mistake goes with an erasure; an outcome comes with the end. */
export interface Planted {
  fact: PlantedFact;
  outcome: PlantedOutcome | null;
  mistake: string | null;
}

/** `planted`: nothing may be stored of a decision on it but how it ended (./planted.ts). */
export type AuthorizationRow = Awaited<ReturnType<typeof selectRows>>[number] & { planted?: Planted | null };

export const describeMistake = ({ fact, mistake }: Planted): string =>
  explainMistake(fact, mistake === null ? null : (JSON.parse(mistake) as Mistake));

export async function markExpired(executor: Executor, where: ReturnType<typeof and>): Promise<void> {
  await executor
    .update(authorizationRequests)
    .set({ status: "expired", decided_at: sql`${authorizationRequests.expires_at}` })
    .where(and(where, isOverdue));
}

/** Row with the result of findPreviouslyDenied. */
export interface FoundAuthorization extends AuthorizationRow {
  deniedId: string | null;
  deniedAt: Date | null;
}

/** SQL: a denial by a rule or a freeze says nothing of what a human thinks of the request. */
export const byPeople = (column: string) => `${column}::jsonb ->> 'kind' = 'people'`;

const columns = Object.keys(getTableColumns(authorizationRequests));
const plantedColumns: Record<string, string> = {
  ...Object.fromEntries(Object.keys(getTableColumns(plantedRequests)).map((name) => [name, `p.${name}`])),
  agent_id: "coalesce(p.agent_id, '00000000-0000-0000-0000-000000000000')",
  status:
    "CASE WHEN p.status = 'pending' AND p.expires_at <= clock_timestamp() THEN 'expired' ELSE p.status END",
  fingerprint: "p.request_hash",
  require_code: "false",
  wrong_codes: "0",
};

/** Query of selectRows for one request, and the equal one before it: agents poll for it. Planted ones look like others. */
const rowText = `SELECT ${columns.map((name) => `r.${name}`).join(", ")},
    (SELECT count(*)::int FROM approvals WHERE request_id = r.id) AS given,
    (SELECT min(environment) FROM approvals WHERE request_id = r.id) AS "approvedIn",
    floor(extract(epoch FROM r.expires_at - clock_timestamp()) * 1000)::bigint AS "millisecondsLeft",
    o.name AS "organizationName", g.name AS "agentName",
    g.frozen_at AS "agentFrozenAt", denied.id AS "deniedId", denied.decided_at AS "deniedAt", NULL::jsonb AS planted
  FROM authorization_requests r
  JOIN organizations o ON o.id = r.organization_id
  JOIN agents g ON g.id = r.agent_id
  LEFT JOIN LATERAL (
    SELECT d.id, d.decided_at FROM authorization_requests d
    WHERE d.fingerprint = r.fingerprint AND d.status = 'denied' AND ${byPeople("d.decided_by")}
      AND d.decided_at > r.created_at - interval '24 hours' AND d.decided_at <= r.created_at
    ORDER BY d.decided_at DESC LIMIT 1
  ) AS denied ON true
  WHERE r.id = $1
  UNION ALL
  SELECT ${columns.map((name) => plantedColumns[name] ?? "NULL").join(", ")}, 0, NULL,
    floor(extract(epoch FROM p.expires_at - clock_timestamp()) * 1000)::bigint,
    o.name, g.name, g.frozen_at, NULL, NULL,
    jsonb_build_object('fact', p.fact, 'outcome', p.outcome, 'mistake', p.mistake)
  FROM planted_requests p
  JOIN organizations o ON o.id = p.organization_id
  LEFT JOIN agents g ON g.id = p.agent_id
  WHERE p.id = $1 AND p.created_at IS NOT NULL`;

export async function findAuthorization(database: Database, id: string): Promise<FoundAuthorization | null> {
  if (!authorizationRequestIdPattern.test(id)) return null;
  const read = database.batched<FoundAuthorization>(rowText, ["text"]);
  const [row] = await read(id);
  if (!row) return null;
  if (row.status !== "pending" || row.millisecondsLeft > 0) return row;
  await markExpired(database.db, eq(authorizationRequests.id, id));
  const [settled] = await read(id);
  return settled ?? null;
}

export interface ListQuery extends PageQuery {
  /** True to list what has an amount, by currency, the largest first; else all is listed, newest first. */
  isByAmount?: boolean;
}

export type ShownTable = typeof authorizationRequests | typeof plantedRequests;

/** Orders by amount like the index authorizations_amount, so that a page reads only what it shows. */
export const listOrder = (
  { isByAmount = false }: Pick<ListQuery, "isByAmount">,
  { id, created_at, currency, amount_units }: ShownTable = authorizationRequests,
) => (isByAmount ? [currency, sql`(-${amount_units})`, id] : [desc(created_at), desc(id)]);

/** The same order. */
export function compareListed(
  { isByAmount = false }: ListQuery,
  one: AuthorizationRow,
  other: AuthorizationRow,
): number {
  const places = [one, other].map(({ currency, amount_units, created_at, id }) =>
    isByAmount ? [currency ?? "", -Number(amount_units), id] : [-created_at.getTime(), "", id],
  );
  const [a, b] = places as [(string | number)[], (string | number)[]];
  const at = a.findIndex((part, i) => part !== b[i]);
  if (at === -1) return 0;
  const isBefore = (a[at] ?? "") < (b[at] ?? "");
  return isBefore === (at < 2 || isByAmount) ? -1 : 1;
}

function readTimePlace(text: string): { createdAt: Date; lastId: string } | undefined {
  const [, time, lastId] = /^(\d{1,15})\.(areq_[A-Za-z0-9_-]{22})$/.exec(text) ?? [];
  const createdAt = new Date(Number(time));
  return lastId !== undefined && isCalendarTime(createdAt) ? { createdAt, lastId } : undefined;
}

/** Parses what {@link writeCursor} writes. */
const readAmountPlace = (text: string) =>
  /^([A-Z]{3})\.(\d{1,18})\.(areq_[A-Za-z0-9_-]{22})$/.exec(text)?.slice(1) ?? undefined;

/** Rows of the list, and after the one that the cursor names. */
export function isAfterCursor(
  { cursor, isByAmount = false }: Omit<ListQuery, "limit">,
  { id, created_at, currency, amount_units }: ShownTable = authorizationRequests,
): SQL | undefined {
  const isListed = isByAmount ? isNotNull(amount_units) : undefined;
  if (cursor === undefined) return isListed;
  if (isByAmount) {
    const [code, units, lastId] = decodeCursor(cursor, readAmountPlace);
    return and(
      isListed,
      sql`(${currency}, (-${amount_units}), ${id}) > (${code}::text, ${`-${units}`}::bigint, ${lastId}::text)`,
    );
  }
  const { createdAt, lastId } = decodeCursor(cursor, readTimePlace);
  return or(lt(created_at, createdAt), and(eq(created_at, createdAt), lt(id, lastId)));
}

export const writeCursor = (
  row: Pick<AuthorizationRow, "id" | "created_at" | "currency" | "amount_units">,
  { isByAmount = false }: ListQuery,
) =>
  encodeCursor(
    isByAmount ? `${row.currency}.${row.amount_units}.${row.id}` : `${row.created_at.getTime()}.${row.id}`,
  );

export async function listRows(
  executor: Executor,
  where: SQL | undefined,
  query: Pick<ListQuery, "limit" | "isByAmount">,
) {
  return selectRows(executor)
    .where(where)
    .orderBy(...listOrder(query))
    .limit(query.limit);
}

export async function countPending(
  executor: Executor,
  { keyId, organizationId }: { keyId: string; organizationId: string },
): Promise<{ ofKey: number; ofOrganization: number }> {
  const [row] = await executor
    .select({
      ofKey: sql<number>`count(*) FILTER (WHERE ${authorizationRequests.api_key_id} = ${keyId})::int`,
      ofOrganization: sql<number>`count(*)::int`,
    })
    .from(authorizationRequests)
    .where(and(eq(authorizationRequests.organization_id, organizationId), isOpen));
  return row ?? { ofKey: 0, ofOrganization: 0 };
}

export function describeDenied(id: string | null, at: Date | null): PreviouslyDenied | null {
  return id === null || at === null ? null : { request_id: id, denied_at: at.toISOString() };
}

/** The last request equal to this one that a human has denied in the last 24 hours. */
export async function findPreviouslyDenied(
  executor: Executor,
  fingerprint: Uint8Array,
): Promise<PreviouslyDenied | null> {
  const [row] = await executor
    .select({ id: authorizationRequests.id, decidedAt: authorizationRequests.decided_at })
    .from(authorizationRequests)
    .where(
      and(
        eq(authorizationRequests.fingerprint, fingerprint),
        eq(authorizationRequests.status, "denied"),
        sql`${sql.raw(byPeople("decided_by"))}`,
        gt(authorizationRequests.decided_at, sql`statement_timestamp() - interval '24 hours'`),
      ),
    )
    .orderBy(desc(authorizationRequests.decided_at))
    .limit(1);
  return describeDenied(row?.id ?? null, row?.decidedAt ?? null);
}

export function parseRequest(row: { request: Uint8Array }): ApprovalRequest {
  return JSON.parse(utf8Decode(row.request)) as ApprovalRequest;
}

/** The request that this one changes, with its content as the page showed it; null for one that changes none. */
export async function readOriginal(executor: Executor, { amends }: Pick<AuthorizationRow, "amends">) {
  if (amends === null) return null;
  const [row] = await executor
    .select()
    .from(authorizationRequests)
    .where(eq(authorizationRequests.id, amends));
  return row === undefined ? null : { row, request: parseRequest(row) };
}

/** The request that this one changes, and its changed details as they were; null for one that changes none, or after erasure. */
export async function readBefore(executor: Executor, row: Pick<AuthorizationRow, "amends" | "request">) {
  const original = await readOriginal(executor, row);
  if (original === null || original.row.context_salt === null) return null;
  const context = parseContext(original.row);
  const changed = listDetails(parseRequest(row).amends?.fields ?? []);
  return {
    request: original.request,
    context: Object.fromEntries(changed.map((name) => [name, context[name] ?? ""])),
    context_salt: original.row.context_salt,
    questions: parseQuestions(original.row),
  };
}

export const parseQuestions = ({ questions }: { questions: string | null }): Question[] =>
  questions === null ? [] : (JSON.parse(questions) as Question[]);

/** Undefined if nobody asked. */
export const hashAsked = (row: {
  questions: string | null;
  context_salt: string | null;
}): string | undefined =>
  row.questions === null
    ? undefined
    : hashQuestions(row.context_salt, parseQuestions(row) as unknown as JsonObject[]);

/** Null while nobody has decided, and where the request ended without a decision. */
export function parseDecidedBy(row: { decided_by: string | null }): Decider | null {
  return row.decided_by === null ? null : (JSON.parse(row.decided_by) as Decider);
}

type JudgedRow = { rule_outcome: string | null; rule_context: string | null };

/** Null without rules; what they were evaluated over goes with an erasure. */
export function parseRuleDecision(row: JudgedRow): NonNullable<AuthorizationState["rules"]> | null {
  if (row.rule_outcome === null) return null;
  const context = row.rule_context === null ? null : (JSON.parse(row.rule_context) as JsonObject);
  const outcome = JSON.parse(row.rule_outcome) as RuleRecord;
  const { unmet: _, deciding: _deciding, ...record } = outcome;
  return { ...record, explanation: explainRules(outcome, context as RuleContext | null), context };
}

export function explainRowBriefly({ rule_outcome: outcome, rule_context: seen }: JudgedRow): string | null {
  if (outcome === null || seen === null) return null;
  return explainBriefly(JSON.parse(outcome) as RuleRecord, JSON.parse(seen) as RuleContext);
}

/** The rules' own text of what the explanation says. */
export const parseRuleText = ({ rule_outcome: outcome }: Pick<JudgedRow, "rule_outcome">): string | null =>
  outcome === null ? null : quoteRules(JSON.parse(outcome) as RuleRecord);

export function parseRequestedBy(row: { requested_by: string | null }): RequestedBy | null {
  return row.requested_by === null ? null : (JSON.parse(row.requested_by) as RequestedBy);
}

export function parseGroupNames(row: { group_names: string | null }): string[] {
  return row.group_names === null ? [] : (JSON.parse(row.group_names) as string[]);
}

/** The required groups by their names, which an erasure takes. */
export function describeRequired({ required_approvers }: ApprovalRequest, names: readonly string[]) {
  return required_approvers.map((group, index) => ({ ...group, name: names[index] ?? null }));
}

/** Empty after erasure, which takes the context away. */
export function parseContext(row: { context: string | null }): Record<string, string> {
  return row.context === null ? {} : (JSON.parse(row.context) as Record<string, string>);
}

/* The link by which a human decides: `{base}/approve/<request id>.<HMAC>`. */

export function approvalUrl({ secrets, settings }: Context, requestId: string): string {
  return `${settings.baseUrl}/approve/${makeToken(secrets.approvalLink, requestId)}`;
}

/** The request's id; null for a token that this service did not make. */
export function readApprovalToken({ secrets }: Context, token: string): string | null {
  return readToken(secrets.approvalLink, token);
}

/** Counted approvals, in their order. */
export async function readApprovals(executor: Executor, requestId: string) {
  const rows = await executor
    .select()
    .from(approvals)
    .where(eq(approvals.request_id, requestId))
    .orderBy(asc(approvals.created_at), asc(approvals.id));
  return rows.map((row) => ({ id: row.id, records: JSON.parse(row.records) as Approval[] }));
}
