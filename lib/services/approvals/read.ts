/** GET /v1/authorize/{request_id} and GET /v1/authorizations: what agents and owners read. */

import { and, asc, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import { mayReach, ownsRow, type Principal } from "#lib/api/http/context";
import { cutPage } from "#lib/api/http/opaque-text";
import { maxWrongCodes } from "#lib/api/schemas/approval-page";
import {
  type AuthorizationState,
  type AuthorizeResponse,
  amendedGuidance,
  askedGuidance,
  denialReasonNote,
  endedGuidance,
  erasedGuidance,
  frozenDenialGuidance,
  frozenGuidance,
  guidanceTexts,
  questionNote,
  revokedGuidance,
  standingGuidance,
  usedGuidance,
  wrongCodesGuidance,
} from "#lib/api/schemas/authorization-state";
import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import type { PersonDecision } from "#lib/api/schemas/portal";
import { containing, type Executor } from "#lib/db/client";
import { agents, approvals, approvers, authorizationRequests } from "#lib/db/schema";
import { amountUnits, canonicalAmount, writtenAmountPattern } from "#lib/protocol/approval/amount";
import {
  type Approval,
  type ApprovalRequest,
  findEnvironment,
  isPasskeyApproval,
} from "#lib/protocol/approval/approval";
import { findEnd } from "#lib/protocol/approval/approval-end";
import { describeAmendment } from "#lib/protocol/approval/decided-words";
import { findPayeeName } from "#lib/protocol/approval/detail-names";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { type ApproverName, buildOpening, type Opening } from "#lib/protocol/approval/opening";
import { isShownContent, type ShownContent } from "#lib/protocol/approval/shown-content";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { entryName, hashName } from "#lib/protocol/passkey/roster";
import { type Facts, factsOfRequest } from "#lib/protocol/record/facts";
import { findTitle } from "#lib/protocol/record/title";
import { findRequestId } from "#lib/protocol/text/mixed-script";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { readNames } from "#lib/services/accounts/approvers";
import { readSignedName } from "#lib/services/accounts/roster";
import { slugKey } from "#lib/services/agents/agents";
import { deriveCode } from "#lib/services/approvals/decision/confirmation-code";
import { assembleHumanAuthorization } from "#lib/services/approvals/use/use-approval";
import { findPrincipalAgain } from "#lib/services/keys/authenticate";
import type { Context } from "./context";
import {
  type AuthorizationRow,
  authorizationNotFound,
  compareListed,
  describeDenied,
  describeRequired,
  type FoundAuthorization,
  findAuthorization,
  isAfterCursor,
  type ListQuery,
  listRows,
  markExpired,
  parseContext,
  parseDecidedBy,
  parseGroupNames,
  parseQuestions,
  parseRequest,
  parseRequestedBy,
  parseRuleDecision,
  readBefore,
  writeCursor,
} from "./rows";

/** Environment that approvals of this request would come from. */
export function expectedEnvironment(
  { worldId }: Context,
  { required_level: level, origin }: ApprovalRequest,
): WorldEnvironment {
  return level === "none" ? findEnvironment(origin, []) : worldId.environment;
}

/** Environment of the approvals; before the first, that of the next. */
export function chooseEnvironment(
  context: Context,
  row: AuthorizationRow,
  request = parseRequest(row),
): WorldEnvironment {
  return row.approvedIn ?? expectedEnvironment(context, request);
}

export const describeClaim = (row: Pick<AuthorizationRow, "claimed_at" | "run">) => ({
  claimed_at: row.claimed_at?.toISOString() ?? null,
  run: row.run,
});

/** Fields for the owner only: the context is not in the object that a public attestation shows to everyone. */
function describeOwned(context: Context, row: AuthorizationRow): Partial<AuthorizationState> {
  return {
    attestation_id: row.attestation_id,
    ...describeClaim(row),
    unattested_at: row.attestation_id === null ? (row.unattested_at?.toISOString() ?? null) : null,
    rules: parseRuleDecision(row),
    required_approvers: describeRequired(parseRequest(row), parseGroupNames(row)),
    context: parseContext(row),
    context_salt: row.context_salt ?? "",
    agent_name: row.agent_name,
    organization_name: row.organization_name,
    requested_by: parseRequestedBy(row),
    confirmation_code: deriveCode(context, row),
    questions: parseQuestions(row),
    question: row.status === "pending" ? findOpenQuestion(row) : null,
  };
}

/** Null if every question has an answer. */
export function findOpenQuestion(
  row: Pick<AuthorizationRow, "questions">,
): (AuthorizationState["question"] & {}) | null {
  const questions = parseQuestions(row);
  const last = questions.at(-1);
  if (last === undefined || last.answer !== null) return null;
  const { question, asked_at } = last;
  return { number: questions.length, question, asked_at, note: questionNote };
}

/** True by the database's clock, of an approval that nothing has used. */
export function isEnded(row: AuthorizationRow, { grant }: ApprovalRequest): boolean {
  if (row.status !== "approved") return false;
  const now = new Date(row.expires_at.getTime() - row.millisecondsLeft).toISOString();
  const ends = { usable_until: row.usable_until?.toISOString(), grant };
  return findEnd(ends, now) !== null;
}

function chooseGuidance(row: AuthorizationRow, request: ApprovalRequest): string | null {
  const { status, agentFrozenAt, attestation_id } = row;
  if (status === "approved" && row.human_authorization === null) return erasedGuidance;
  if (row.revoked_at !== null) return revokedGuidance;
  if (attestation_id !== null) return usedGuidance;
  if (isEnded(row, request)) return endedGuidance;
  const isWaiting = status === "pending" || status === "approved";
  if (isWaiting && agentFrozenAt !== null) return frozenGuidance;
  if (status === "denied" && parseDecidedBy(row)?.kind === "freeze") return frozenDenialGuidance;
  if (row.amended_by !== null) return amendedGuidance;
  if (status === "pending" && findOpenQuestion(row) !== null) return askedGuidance;
  if (status === "cancelled" && row.wrong_codes >= maxWrongCodes) return wrongCodesGuidance;
  if (status === "approved" && request.grant !== null) return standingGuidance;
  return guidanceTexts[status];
}

function describeState(context: Context, row: AuthorizationRow): AuthorizationState {
  const request = parseRequest(row);
  const guidance = chooseGuidance(row, request);
  const decidedBy = parseDecidedBy(row);
  const denial =
    row.status === "denied"
      ? {
          denial_reason: row.denial_reason,
          ...(row.denial_reason && decidedBy?.kind === "people" && { denial_reason_note: denialReasonNote }),
        }
      : {};
  return {
    request_id: row.id,
    status: row.status,
    agent_slug: request.agent_slug,
    action: request.action,
    tool: request.tool ?? null,
    amount: request.amount ?? null,
    grant: request.grant,
    inputs_hash: request.inputs_hash ?? null,
    amendable: request.amendable ?? null,
    required_level: request.required_level,
    require_code: row.require_code,
    created_at: request.created_at,
    expires_at: request.expires_at,
    environment: chooseEnvironment(context, row, request),
    decided_at: row.decided_at?.toISOString() ?? null,
    amended_by: row.amended_by,
    amends:
      request.amends === undefined || row.amends === null
        ? null
        : { request_id: row.amends, fields: request.amends.fields, by: request.amends.by ?? null },
    revoked_at: row.revoked_at?.toISOString() ?? null,
    decided_by: decidedBy,
    usable_until: row.usable_until?.toISOString() ?? null,
    used_at: row.used_at?.toISOString() ?? null,
    approvals: { required: row.approvals_required, given: row.given },
    ...denial,
    ...(guidance === null ? {} : { guidance }),
    ...(row.human_authorization === null
      ? {}
      : { human_authorization: assembleHumanAuthorization(row.human_authorization, row.decision_log) }),
  };
}

/** `viewer`: null for a client that only knows the id. */
async function describeFor(
  context: Context,
  row: FoundAuthorization,
  viewer: Principal | null,
): Promise<AuthorizationState> {
  const state = describeState(context, row);
  if (viewer === null || !ownsRow(viewer, row) || !mayReach(viewer, "read", row)) return state;
  const previously_denied = describeDenied(row.deniedId, row.deniedAt);
  const before = await readBefore(context.database.db, row);
  return {
    ...state,
    ...describeOwned(context, row),
    ...(before && { before: { context: before.context, context_salt: before.context_salt } }),
    previously_denied,
  };
}

/** Describes one that nobody was asked about, just decided. */
export const describeMade = (
  context: Context,
  row: typeof authorizationRequests.$inferSelect,
  { previously_denied: denied }: Pick<AuthorizeResponse, "previously_denied">,
  viewer: Principal,
): Promise<AuthorizationState> =>
  describeFor(
    context,
    {
      ...row,
      given: 0,
      approvedIn: null,
      agentFrozenAt: null,
      millisecondsLeft: row.expires_at.getTime() - row.created_at.getTime(),
      organizationName: row.organization_name,
      agentName: row.agent_name,
      deniedId: denied?.request_id ?? null,
      deniedAt: denied ? new Date(denied.denied_at) : null,
    },
    viewer,
  );

export const wakeupName = (requestId: string) => `authorization:${requestId}`;

async function requireAuthorization(context: Context, requestId: string): Promise<FoundAuthorization> {
  const row = await findAuthorization(context.database, requestId);
  if (row === null) throw authorizationNotFound();
  return row;
}

/** A process that is about to stop answers waiting clients at once, and those that come back to it soon. */
const longestWhileLeaving = 1;

/** A key may end while it waits: what only its organization sees isn't for it then. */
const findViewerAgain = async (context: Context, viewer: Principal | null) =>
  viewer?.kind === "key" ? findPrincipalAgain(context, viewer) : viewer;

/**
 * Waits at most `waitSeconds` for the status to change; no database connection is held meanwhile. `noteWait` is called with
 * each time that it waited.
 */
export async function readAuthorization(
  context: Context,
  requestId: string,
  viewer: Principal | null,
  waitSeconds = 0,
  noteWait: (milliseconds: number) => void = () => {},
): Promise<AuthorizationState> {
  if (waitSeconds === 0) return describeFor(context, await requireAuthorization(context, requestId), viewer);
  const { leaving } = context;
  const isLeaving = leaving.hasBegun;
  const seconds = isLeaving ? Math.min(waitSeconds, longestWhileLeaving) : waitSeconds;
  const untilMs = performance.now() + seconds * 1000;
  let askedBefore: number | undefined;
  for (;;) {
    const leftMs = untilMs - performance.now();
    // Listening begins before the look, so that a change in between wakes too.
    const wait = context.wakeups.wait(wakeupName(requestId), Math.max(0, leftMs));
    try {
      const row = await requireAuthorization(context, requestId);
      const isOver = leftMs <= 0 || (leaving.hasBegun && !isLeaving);
      const asked = parseQuestions(row).length;
      askedBefore ??= asked;
      // A question that came while the client waited: it may want to answer.
      if (row.status !== "pending" || asked > askedBefore || isOver)
        return await describeFor(context, row, await findViewerAgain(context, viewer));
      const expiry = setTimeout(wait.end, Math.max(0, row.millisecondsLeft) + 5);
      const startMs = context.clock().getTime();
      await wait.over;
      noteWait(context.clock().getTime() - startMs);
      clearTimeout(expiry);
    } finally {
      wait.end();
    }
  }
}

export interface AuthorizationQuery extends ListQuery {
  status?: AuthorizationStatus | undefined;
  agent_slug?: string | undefined;
  /** Part of the action or of a detail, an amount, or an id. */
  text?: string | undefined;
}

const writtenAmount = /^([\d,.]+)(?:\s*[A-Z]{3})?$/i;

function readUnits(text: string): bigint | null {
  const value = writtenAmount.exec(text)?.[1]?.replaceAll(",", "") ?? "";
  return writtenAmountPattern.test(value) ? amountUnits(canonicalAmount(value)) : null;
}

function hasText(text: string): SQL | undefined {
  const { id, request, context, amount_units } = authorizationRequests;
  const found = findRequestId(text);
  if (found !== undefined) return eq(id, found);
  const units = readUnits(text);
  return or(
    sql`convert_from(${request}, 'UTF8')::jsonb ->> 'action' ILIKE ${containing(text)}`,
    // Details are stored as JSON: their texts are found as JSON escapes them.
    sql`${context} ILIKE ${containing(JSON.stringify(text).slice(1, -1))}`,
    units === null ? undefined : eq(amount_units, units),
  );
}

/**
 * Reads a page. Expired ones of `isOwn` are marked before `isOnPage` is evaluated. `beside`: rows after the cursor, from
 * elsewhere.
 */
export async function readPage(
  { database: { db } }: Context,
  isOwn: SQL,
  isOnPage: SQL | undefined,
  query: ListQuery,
  beside: readonly AuthorizationRow[] = [],
) {
  await markExpired(db, isOwn);
  const listed = await listRows(db, and(isOnPage, isAfterCursor(query)), {
    ...query,
    limit: query.limit + 1,
  });
  const rows =
    beside.length === 0
      ? listed
      : [...listed, ...beside].sort((one, other) => compareListed(query, one, other));
  return cutPage(rows, query, (row) => writeCursor(row, query));
}

export async function listAuthorizations(context: Context, principal: Principal, query: AuthorizationQuery) {
  const isOwn = eq(authorizationRequests.organization_id, principal.organizationId);
  const isOnPage = and(
    isOwn,
    query.status === undefined ? undefined : eq(authorizationRequests.status, query.status),
    query.agent_slug === undefined ? undefined : sql`${agents.slug_key} = ${slugKey(query.agent_slug)}`,
    query.text === undefined ? undefined : hasText(query.text),
  );
  const { shown, nextCursor } = await readPage(context, isOwn, isOnPage, query);
  return {
    authorizations: shown.map((row) => ({ ...describeState(context, row), ...describeOwned(context, row) })),
    next_cursor: nextCursor,
  };
}

/* Deciders of a request, for its organization alone: the object itself has no names. */

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

/** Names of the enrolled approvers who approved each request, oldest first, or of the one who denied it. */
export async function readDeciderNames(executor: Executor, ids: string[]): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map();
  const { id, denied_by: deniedBy } = authorizationRequests;
  const who = sql`coalesce(${deniedBy}, ${approvals.approver_id})`;
  const name = sql`coalesce(${shownName}, 'A former approver')`;
  const rows = await executor
    .select({
      id,
      names: sql<string[]>`json_agg(${name} ORDER BY ${approvals.created_at}, ${approvals.id})`,
    })
    .from(authorizationRequests)
    .leftJoin(approvals, and(eq(approvals.request_id, id), isNull(deniedBy)))
    .leftJoin(approvers, eq(approvers.id, who))
    .where(and(inArray(id, ids), sql`${who} IS NOT NULL`))
    .groupBy(id);
  return new Map(rows.map((row) => [row.id, row.names]));
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
  const shown = parseContext(row);
  return factsOfRequest({
    ...request,
    context: shown,
    title: findTitle({ action: request.action, tool: request.tool ?? null, context: shown }),
    requester: parseRequestedBy(row)?.requester,
    changed:
      request.amends && before
        ? describeAmendment({ amends: request.amends, before: before.request, now: request }, amender?.who)
        : null,
    status: row.status,
    amended_by: row.amended_by,
    decided_by: parseDecidedBy(row),
    decided_at: row.decided_at?.toISOString(),
    approvals: { given: row.given, required: row.approvals_required },
    groups: describeRequired(request, parseGroupNames(row)),
    people: deciders.map(({ who, by, at }) => ({ name: who, way: by, at })),
    environment: chooseEnvironment(context, row),
  });
}

/* Openings: what an owner shows of an approval to an auditor (docs/decisions/0051-opening-names-to-an-auditor.md). */

/** `payee`: the one detail that names it, where it can be opened alone. `all`: everything that the page showed, and names. */
export type OpeningChoice = "none" | "payee" | "all";

type Row = typeof authorizationRequests.$inferSelect;

/** Reads what the page showed; null after erasure. */
function readShown(row: Row): ShownContent | null {
  const { context_salt, agent_name, organization_name, requested_by } = row;
  if (context_salt === null || requested_by === null) return null;
  return {
    context: parseContext(row),
    context_salt,
    agent_name,
    organization_name,
    group_names: parseGroupNames(row),
    requested_by: JSON.parse(requested_by) as JsonValue,
  };
}

/** Names approvers by the commitments of their roster, or by the organization's word where it has no name. */
async function nameApprovers({ database: { db } }: Context, organizationId: string, object: JsonObject) {
  const { approvers } = await readNames(db, organizationId);
  const named = new Map<string, ApproverName>();
  for (const { approver_id, roster } of (parseHumanAuthorization(object)?.approvals ?? []).filter(
    isPasskeyApproval,
  )) {
    const { groups } = roster.entry;
    const signed = await readSignedName(db, organizationId, roster.head.number, entryName(roster.entry));
    const name = approvers[approver_id];
    if (signed !== null && groups.includes(hashName(signed)))
      named.set(approver_id, { approver_id, ...signed });
    else if (name) named.set(approver_id, { approver_id, name });
  }
  return [...named.values()];
}

/** Adds the opening, if the approval in the answer is the organization's own and what is to be opened is still there. */
export async function addOpening<Answer extends JsonObject>(
  context: Context,
  organizationId: string,
  answer: Answer,
  choice: OpeningChoice,
): Promise<Answer & { opening?: Opening }> {
  const object = answer["human_authorization"];
  const asked = isJsonObject(object) ? object["request"] : null;
  if (choice === "none" || !isJsonObject(object) || !isJsonObject(asked)) return answer;
  const { id, organization_id } = authorizationRequests;
  const [row] = await context.database.db
    .select()
    .from(authorizationRequests)
    .where(and(eq(id, String(asked["request_id"])), eq(organization_id, organizationId)));
  const shown = row === undefined ? null : readShown(row);
  if (row === undefined || shown === null) return answer;
  const request = parseRequest(row);
  // A changed row opens nothing: the reader's check would fail.
  if (!isShownContent(request, shown)) return answer;
  if (choice === "all") {
    const names = await nameApprovers(context, organizationId, object);
    return { ...answer, opening: buildOpening(request, shown, names, () => true) };
  }
  const payee = findPayeeName(parseContext(row));
  // Opening one entry needs hashes of entries; without them it would open all others.
  if (payee === null || request.entries_hash === undefined) return answer;
  const isPayee = ({ kind, name }: { kind: string; name: string }) => kind === "context" && name === payee;
  return { ...answer, opening: buildOpening(request, shown, [], isPayee) };
}

/** Lists what can be opened of it, the least first. */
export async function listOpenings(context: Context, organizationId: string, answer: JsonObject) {
  const openings: ("payee" | "all")[] = [];
  for (const choice of ["payee", "all"] as const)
    if ((await addOpening(context, organizationId, answer, choice)).opening !== undefined)
      openings.push(choice);
  return openings;
}
