/**
 * A person's inbox: the requests of the organizations that they belong to, and those that name them as an approver. No
 * confirmation code that has to be typed is in it: that comes from the agent.
 */
import { and, count, desc, eq, gt, inArray, isNotNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { UserPrincipal } from "#lib/api/http/context";
import { maxWrongCodes } from "#lib/api/schemas/approval-page";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import {
  agentKeys,
  apiKeys,
  approverGroups,
  approvers,
  attestations,
  authorizationRequests,
  memberships,
  passkeys,
  plantedRequests,
  requestApprovers,
} from "#lib/db/schema";
import { databaseNow, readDatabaseTime } from "#lib/db/shared-clock";
import {
  type ApprovalRequest,
  bindRequest,
  type HumanAuthorization,
  isListable,
  isPasskeyApproval,
  isWorldIdApproval,
  listKind,
  listPeople,
} from "#lib/protocol/approval/approval";
import { fillPlaces } from "#lib/protocol/approval/assign-groups";
import { findPayee } from "#lib/protocol/approval/detail-names";
import { base64Decode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { listSize } from "#lib/protocol/passkey/assertion";
import { deriveTitle, describeBriefly } from "#lib/protocol/record/title";
import { publicUrl } from "#lib/protocol/statement/product";
import type { ProtocolVersion } from "#lib/protocol/world-id/world-id-proof";
import { findReplaced, listDeputyships } from "#lib/services/accounts/approver-groups";
import { isEnrolled } from "#lib/services/accounts/roster";
import { readLooks } from "#lib/services/approvals/attention";
import type { Context } from "#lib/services/approvals/context";
import { readAmenderGroups } from "#lib/services/approvals/decision/passkey-approval";
import { findTestRequests } from "#lib/services/approvals/portal-authorizations";
import { chooseEnvironment, isEnded, readPage } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  approvalUrl,
  describeDenied,
  describeMistake,
  explainRowBriefly,
  type FoundAuthorization,
  findAuthorization,
  isAfterCursor,
  isOpen,
  type ListQuery,
  listOrder,
  parseContext,
  parseDecidedBy,
  parseGroupNames,
  parseQuestions,
  parseRequest,
  parseRequestedBy,
  parseRuleDecision,
  parseRuleText,
  readApprovals,
  readApprovalToken,
  readBefore,
  type ShownTable,
} from "#lib/services/approvals/rows";
import { deriveCode } from "./confirmation-code";

/* View of a request on the approval page: everything that a holder of the link may see. */

async function readKeyStatus(
  executor: Executor,
  agentId: string,
  publicKey: string | null,
): Promise<ApprovalView["agent"]["key_status"]> {
  if (publicKey === null) return "none";
  const [key] = await executor
    .select()
    .from(agentKeys)
    .where(and(eq(agentKeys.agent_id, agentId), eq(agentKeys.public_key, base64Decode(publicKey))))
    .orderBy(desc(agentKeys.registered_at))
    .limit(1);
  if (!key || key.retired_at !== null) return "retired";
  return key.proven_at === null ? "unproven" : "proven";
}

async function readUse(
  context: Context,
  row: AuthorizationRow,
  request: ApprovalRequest,
): Promise<ApprovalView["attestation"]> {
  if (row.attestation_id === null) return null;
  const [used] = await context.database.db
    .select({ isPublic: attestations.is_public })
    .from(attestations)
    .where(eq(attestations.id, row.attestation_id));
  return {
    id: row.attestation_id,
    public_url: publicUrl(context.settings.baseUrl, request.agent_slug, row.attestation_id),
    is_public: used?.isPublic ?? false,
  };
}

function readProofs(row: AuthorizationRow): ApprovalView["proofs"] {
  if (row.human_authorization === null) return [];
  const { approvals } = JSON.parse(utf8Decode(row.human_authorization)) as HumanAuthorization;
  return approvals.filter(isWorldIdApproval).map(({ level, verified_by, anchor }) => ({
    level,
    verified_by,
    is_anchored: anchor !== undefined,
  }));
}

async function readGroups(
  executor: Executor,
  row: AuthorizationRow,
  { required_approvers: required }: ApprovalRequest,
): Promise<ApprovalView["groups"]> {
  if (required.length === 0) return [];
  const given = (await readApprovals(executor, row.id)).flatMap(({ records }) => records);
  const people = given.filter(isPasskeyApproval).map(({ groups }) => groups.map(({ group }) => group));
  const filled = fillPlaces(required, people);
  const names = parseGroupNames(row);
  return required.map(({ count }, index) => ({
    name: names[index] ?? null,
    count,
    given: filled[index] ?? 0,
  }));
}

const readDeputyships = async (executor: Executor, row: AuthorizationRow) =>
  row.status === "pending"
    ? listDeputyships(
        executor,
        parseRequest(row).required_approvers.map(({ group }) => group),
      )
    : [];

/** Erased requests have no counts, and with them no reason. */
const explainFor = (row: AuthorizationRow) =>
  row.context === null ? null : (parseRuleDecision(row)?.explanation ?? null);

async function describeApproval(context: Context, row: FoundAuthorization): Promise<ApprovalView> {
  const { db } = context.database;
  const request = parseRequest(row);
  const binding = bindRequest(request);
  const environment = chooseEnvironment(context, row);
  return {
    request_id: row.id,
    status: row.status,
    request,
    binding,
    context: parseContext(row),
    context_salt: row.context_salt ?? "",
    agent: {
      slug: request.agent_slug,
      name: row.agent_name,
      public_key: request.agent_public_key,
      key_status: await readKeyStatus(db, row.agent_id, request.agent_public_key),
    },
    organization: { id: row.organization_id, name: row.organization_name },
    group_names: parseGroupNames(row),
    requested_by: parseRequestedBy(row),
    required_level: request.required_level,
    groups: await readGroups(db, row, request),
    deputies: (await readDeputyships(db, row)).map(({ deputy, replaced }) => ({ deputy, replaced })),
    looking: row.status === "pending" ? await readLooks(db, row.id) : [],
    approvals: { required: row.approvals_required, given: row.given },
    protocol_version: row.protocol_version as ProtocolVersion | null,
    created_at: request.created_at,
    expires_at: request.expires_at,
    now: (await readDatabaseTime(db)).toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    decided_by: parseDecidedBy(row),
    confirmation_code: row.require_code ? null : deriveCode(context, row),
    code_tries_left: row.require_code ? maxWrongCodes - row.wrong_codes : null,
    previously_denied: describeDenied(row.deniedId, row.deniedAt),
    environment,
    is_test: environment !== "production",
    rules_explanation: explainFor(row),
    rules_text: row.context === null ? null : parseRuleText(row),
    usable_until: row.usable_until?.toISOString() ?? null,
    proofs: readProofs(row),
    denial_reason: row.denial_reason,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    is_frozen: row.agentFrozenAt !== null,
    is_erased: row.context === null,
    attestation: await readUse(context, row, request),
    before: await readBefore(db, row),
    amended_path: row.amended_by === null ? null : new URL(approvalUrl(context, row.amended_by)).pathname,
    questions: parseQuestions(row),
    planted: describePlanted(row),
  };
}

/** Null while it is pending. */
function describePlanted({ planted, status }: AuthorizationRow): ApprovalView["planted"] {
  if (!planted || status === "pending") return null;
  return { outcome: planted.outcome ?? "expired", mistake: describeMistake(planted) };
}

/** Null for a token that this service did not make, or a request that is gone. Changes nothing. */
export async function readApprovalView(context: Context, token: string): Promise<ApprovalView | null> {
  const requestId = readApprovalToken(context, token);
  const row = requestId === null ? null : await findAuthorization(context.database, requestId);
  return row === null ? null : describeApproval(context, row);
}

export interface InboxQuery extends ListQuery {
  /** True to list requests that wait for a decision. */
  isWaiting: boolean;
}

/** Time left from which on a request is marked as urgent. */
const soonMs = 10 * 60_000;

function isFor(
  { database: { db } }: Context,
  user: UserPrincipal,
  table: ShownTable = authorizationRequests,
): SQL {
  const own = db
    .select({ id: memberships.organization_id })
    .from(memberships)
    .where(eq(memberships.user_id, user.userId));
  const named = db
    .select({ id: requestApprovers.request_id })
    .from(requestApprovers)
    .innerJoin(approvers, eq(approvers.id, requestApprovers.approver_id))
    .where(and(eq(approvers.email, user.email), eq(approvers.status, "confirmed")));
  const both = or(inArray(table.organization_id, own), inArray(table.id, named));
  if (both === undefined) throw new Error("two conditions make one");
  return both;
}

const isPlantedOpen = and(
  eq(plantedRequests.status, "pending"),
  gt(plantedRequests.expires_at, databaseNow),
  isNotNull(plantedRequests.created_at),
);

/** Reads those after the cursor, in the list's order, as rows like the others. */
async function readPlantedRows(context: Context, user: UserPrincipal, query: InboxQuery) {
  if (!query.isWaiting) return [];
  const found = await context.database.db
    .select({ id: plantedRequests.id })
    .from(plantedRequests)
    .where(and(isFor(context, user, plantedRequests), isPlantedOpen, isAfterCursor(query, plantedRequests)))
    .orderBy(...listOrder(query, plantedRequests))
    .limit(query.limit + 1);
  const rows = await Promise.all(found.map(({ id }) => findAuthorization(context.database, id)));
  return rows.flatMap((row) => row ?? []);
}

/** The first of each organization, and the first that name the person: so no page reads more than a few of each. */
function isOnPage(user: UserPrincipal, query: InboxQuery): SQL {
  const { id, organization_id, status } = authorizationRequests;
  const isWanted = query.isWaiting ? eq(status, "pending") : ne(status, "pending");
  const page = sql`${and(isWanted, isAfterCursor(query))}
    ORDER BY ${sql.join(listOrder(query), sql`, `)} LIMIT ${query.limit + 1}`;
  return sql`${id} IN (
    SELECT own.id FROM memberships m CROSS JOIN LATERAL (
      SELECT ${id} FROM ${authorizationRequests} WHERE ${organization_id} = m.organization_id AND ${page}
    ) AS own WHERE m.user_id = ${user.userId}
    UNION (
      SELECT ${id} FROM approvers a JOIN request_approvers n ON n.approver_id = a.id
      JOIN ${authorizationRequests} ON ${id} = n.request_id
      WHERE a.email = ${user.email} AND a.status = 'confirmed' AND ${page}
    ))`;
}

/** True if passkeys alone decide a waiting request: no World ID proof, and no code from the agent. */
function isByPasskey(
  { status, require_code, agentFrozenAt }: AuthorizationRow,
  { required_level }: ApprovalRequest,
): boolean {
  return status === "pending" && !require_code && required_level === "none" && agentFrozenAt === null;
}

export async function listInbox(context: Context, user: UserPrincipal, query: InboxQuery) {
  const { shown, nextCursor } = await readPage(
    context,
    isFor(context, user),
    isOnPage(user, query),
    query,
    await readPlantedRows(context, user, query),
  );
  const tests = await findTestRequests(
    context,
    shown.map(({ id }) => id),
  );
  const rows = shown.map((row) => {
    const request = parseRequest(row);
    const { agent_slug, action, expires_at, amount, tool } = request;
    return {
      request_id: row.id,
      organization_id: row.organization_id,
      organization_name: row.organizationName,
      agent_slug,
      action,
      title: deriveTitle({ action, tool: tool ?? null, context: parseContext(row) }),
      brief: describeBriefly({ action, tool: tool ?? null, context: parseContext(row) }),
      amount: amount ?? null,
      tool: tool ?? null,
      payee: findPayee(parseContext(row)),
      why: explainFor(row),
      whyBriefly: explainRowBriefly(row),
      status: row.status,
      amended_by: row.amended_by,
      is_test: tests.has(row.id),
      environment: chooseEnvironment(context, row),
      approvals: { required: row.approvals_required, given: row.given },
      expires_at,
      decided_at: row.decided_at?.toISOString() ?? null,
      denial_reason: row.denial_reason,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      /** The time is over in which it could be used, and nothing used it. */
      is_over: row.attestation_id === null && isEnded(row, request),
      expires_soon: row.status === "pending" && row.millisecondsLeft <= soonMs,
      approval_url: approvalUrl(context, row.id),
      by_passkey: isByPasskey(row, request) ? request : null,
    };
  });
  return { rows, nextCursor };
}

/** The inbox shows so many requests whole: nobody would read more to the end. */
const maxWhole = 5;

interface Right {
  people: string[];
  groupIds: string[];
}

/** The person as an approver with a passkey, in each organization, and those in whose place they decide, with their groups. */
async function readOwnGroups(
  { database: { db } }: Context,
  user: UserPrincipal,
): Promise<{ own: Right; deputy: Right }> {
  const own = await db
    .selectDistinct({ id: approvers.id })
    .from(approvers)
    .innerJoin(passkeys, eq(passkeys.approver_id, approvers.id))
    .where(and(eq(approvers.email, user.email), isEnrolled));
  const replaced = own.length === 0 ? [] : await findReplaced(db, user);
  const [people, others] = [own, replaced].map((ids) => ids.map(({ id }) => id)) as [string[], string[]];
  const places = await db
    .select({ id: approverGroups.approver_id, groupId: approverGroups.group_id })
    .from(approverGroups)
    .where(inArray(approverGroups.approver_id, [...people, ...others]));
  const listGroupIds = (ids: string[]) => [
    ...new Set(places.filter(({ id }) => ids.includes(id)).map(({ groupId }) => groupId)),
  ];
  return {
    own: { people, groupIds: listGroupIds(people) },
    deputy: { people: [...people, ...others], groupIds: listGroupIds(others) },
  };
}

/** Finds requests that a key of the person's asks for, whether or not they were an approver at that time. */
async function findOwnAsked({ database: { db } }: Context, user: UserPrincipal, rows: readonly InboxRow[]) {
  const ids = rows.map(({ request_id }) => request_id);
  const findAsked = (table: ShownTable) =>
    db
      .select({ id: table.id })
      .from(table)
      .innerJoin(apiKeys, eq(apiKeys.id, table.api_key_id))
      .where(and(inArray(table.id, ids), eq(sql`lower(${apiKeys.email})`, user.email.toLowerCase())));
  const asked = [...(await findAsked(authorizationRequests)), ...(await findAsked(plantedRequests))];
  return new Set(asked.map(({ id }) => id));
}

type InboxRow = Awaited<ReturnType<typeof listInbox>>["rows"][number];
type OwnGroups = Awaited<ReturnType<typeof readOwnGroups>>;

/**
 * Finds the right in which the person's approval would count: they didn't ask or approve, and a place of their groups is free,
 * which whoever changed the request has. Null if it wouldn't.
 */
async function findRight(
  { database: { db } }: Context,
  { request_id, by_passkey: request }: InboxRow,
  { own, deputy }: OwnGroups,
  asked: ReadonlySet<string>,
): Promise<"own" | "deputy" | null> {
  if (request === null) return null;
  const { required_approvers: required, requester_may_approve: mayAll } = request;
  const isIn = ({ groupIds }: Right) => required.some(({ group }) => groupIds.includes(group));
  const isOwn = isIn(own);
  const right = isOwn ? own : deputy;
  if (!isIn(right) || ((!mayAll || !isOwn) && asked.has(request_id))) return null;
  const present = (await readApprovals(db, request_id)).flatMap(({ records }) =>
    records.filter(isPasskeyApproval),
  );
  if (present.flatMap(listPeople).some((id) => right.people.includes(id))) return null;
  const people = [...present.map(({ groups }) => groups.map(({ group }) => group)), right.groupIds];
  const amender = request.amends?.by;
  const given = [...own.people, ...present.map(({ approver_id }) => approver_id)];
  if (amender !== undefined && !given.includes(amender)) people.push(await readAmenderGroups(db, request));
  const filled = fillPlaces(required, people).reduce((sum, count) => sum + count, 0);
  return filled === people.length ? (isOwn ? "own" : "deputy") : null;
}

interface Decidable {
  token: string;
  view: ApprovalView;
  /** Names of the people for whom the person decides it; empty by their own right. */
  asDeputyOf: string[];
  /** Equal for requests that a table may show together. */
  kind: string;
}

async function readOne(
  context: Context,
  { request_id, approval_url }: InboxRow,
  deputyIds: readonly string[],
): Promise<Decidable[]> {
  const row = await findAuthorization(context.database, request_id);
  if (row?.status !== "pending") return [];
  const view = await describeApproval(context, row);
  const { request, agent, organization, group_names, groups, requested_by, previously_denied } = view;
  const { version, reason, policy_ids } = parseRuleDecision(row) ?? {};
  const { agent_past: _past, ...asker } = requested_by ?? {};
  const rules = [version, reason, policy_ids];
  const deputyships = await readDeputyships(context.database.db, row);
  const asDeputyOf = deputyships
    .filter(({ deputyId }) => deputyIds.includes(deputyId))
    .map(({ replaced }) => replaced);
  const names = Object.keys(view.context ?? {}).sort();
  // Without a tool, nothing else says that two requests are about the same.
  const form = request.tool ? null : names.length > 0 ? names : request.action;
  const shared = { agent, organization, group_names, groups, asker, rules, asDeputyOf, form };
  // A warning and a question belong on a page of their own.
  const isAlone = !isListable(request) || previously_denied !== null || row.questions !== null;
  const kind = isAlone ? request_id : `${listKind(request)} ${JSON.stringify(shared)}`;
  return [{ token: approval_url.split("/").at(-1) ?? "", view, asDeputyOf, kind }];
}

/**
 * Reads those of these requests that the person's passkey alone decides, as the approval page shows them, with its token. Equal
 * ones are together, for one table; of the others only a few are shown whole. Those that expire soon come first.
 */
export async function readDecidable(
  context: Context,
  user: UserPrincipal,
  rows: readonly InboxRow[],
): Promise<Omit<Decidable, "kind">[][]> {
  const own = await readOwnGroups(context, user);
  const asked = await findOwnAsked(context, user, rows);
  const byUrgency = rows.toSorted((a, b) => Number(b.expires_soon) - Number(a.expires_soon));
  const rights = await Promise.all(
    byUrgency.map(async (row) => ({ row, right: await findRight(context, row, own, asked) })),
  );
  const open = rights.filter(({ right }) => right !== null).slice(0, listSize.max);
  const read = open.map(({ row, right }) => readOne(context, row, right === "deputy" ? own.own.people : []));
  const views = (await Promise.all(read)).flat();
  const kinds = [...new Set(views.map(({ kind }) => kind))];
  const groups = kinds.map((kind) => views.filter((one) => one.kind === kind));
  const alone = groups.filter(({ length }) => length === 1).slice(0, maxWhole);
  return groups
    .filter((group) => group.length > 1 || alone.includes(group))
    .map((group) => group.map(({ kind: _kind, ...one }) => one));
}

export async function countWaiting(context: Context, user: UserPrincipal): Promise<number> {
  const countIn = async (table: ShownTable, isWaiting: SQL | undefined) => {
    const isTheirs = and(isFor(context, user, table), isWaiting);
    const [row] = await context.database.db.select({ count: count() }).from(table).where(isTheirs);
    return row?.count ?? 0;
  };
  return (await countIn(authorizationRequests, isOpen)) + (await countIn(plantedRequests, isPlantedOpen));
}
