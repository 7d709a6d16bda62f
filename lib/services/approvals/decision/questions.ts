/**
 * Questions of approvers and the answers of who asked (docs/decisions/0052): others' words, bounded, one open at a time. They
 * change nothing of the request and don't stop its clock; the decision hashes them.
 */
import { and, eq, sql } from "drizzle-orm";
import type { z } from "zod";
import { type Actor, type Principal, toActor } from "#lib/api/http/context";
import type { askBody } from "#lib/api/schemas/approval-view";
import type { answerBody } from "#lib/api/schemas/authorize";
import type { Executor } from "#lib/db/client";
import { authorizationRequests, plantedRequests } from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { type Question, questionLimits } from "#lib/protocol/approval/amendment";
import { recordAudit } from "#lib/services/accounts/audit";
import { acts } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { wakeupName } from "#lib/services/approvals/read";
import { type AuthorizationRow, isOpen, parseQuestions, parseRequest } from "#lib/services/approvals/rows";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { findDecidable, findOpen, findOwn, nameActor } from "./decide";
import { countApprover, needsPasskey, type ProvenApprover, proveApprover } from "./passkey-approval";
import { notPending } from "./store";

const conflict = (words: string) => new AppError("question_conflict", words);

const movedMeanwhile = () =>
  conflict("somebody asked or answered at the same moment; read the request again");

type Change = (questions: Question[], now: string) => Question[];

/** Changes questions in one statement: the second of two concurrent changes finds other questions than it was made from. */
async function changeQuestions(
  context: Context,
  row: AuthorizationRow,
  {
    actor,
    action,
    change,
    recheck,
    approver = null,
  }: {
    actor: Actor;
    action: string;
    change: Change;
    recheck?: Principal;
    approver?: ProvenApprover | null;
  },
): Promise<void> {
  const now = (await readDatabaseTime(context.database.db)).toISOString();
  const asked = change(parseQuestions(row), now);
  const [questions, count] = [JSON.stringify(asked), asked.length];
  await context.database.db.transaction(async (tx) => {
    if (recheck?.kind === "key") await lockAndRecheckKey(tx, recheck, "operate");
    const refusal = approver && (await countApprover(tx, approver.enrolled));
    if (refusal !== null) throw refusal;
    if (row.planted) return askAboutPlanted(context, tx, row, questions);
    const { id, questions: before } = authorizationRequests;
    const changed = await tx
      .update(authorizationRequests)
      .set({ questions })
      .where(and(eq(id, row.id), isOpen, sql`${before} IS NOT DISTINCT FROM ${row.questions}`))
      .returning({ id });
    if (changed.length !== 1) {
      await findOpen(context, row.id);
      throw movedMeanwhile();
    }
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor,
      action,
      subject: row.id,
    });
    if (action !== "authorization.question") return;
    await notifyAsker(tx, row);
    // Announces like announce_decision does for the callbacks of an organization.
    if (row.callback_url !== null)
      await tx.execute(sql`INSERT INTO webhook_endpoints (id, organization_id, events)
        VALUES (gen_random_uuid(), ${row.organization_id}, '{}') ON CONFLICT (organization_id) WHERE url IS NULL DO NOTHING`);
    // One message for each question.
    await tx.execute(sql`SELECT announce_event(${row.organization_id}, ${action}, ${`${row.id} ${count}`},
        clock_timestamp(), ${JSON.stringify({ request_id: row.id, number: count }).slice(1, -1)}, ${row.callback_url})`);
  });
  await context.wakeups.notify(wakeupName(row.id));
}

/**
 * A mail to the person whose key asks for the approval, while they can answer. Settings of a member are kept with the
 * approvers; one without any has the usual ones.
 */
async function notifyAsker(tx: Executor, row: AuthorizationRow): Promise<void> {
  const { id, api_key_id: keyId, organization_id: organizationId } = row;
  const mayAnswer = sql.join(
    acts.operate.map((role) => sql`${role}`),
    sql`, `,
  );
  await tx.execute(sql`INSERT INTO approvers (id, organization_id, email, status)
    SELECT gen_random_uuid(), k.organization_id, u.email, 'confirmed'
    FROM api_keys k JOIN users u ON lower(u.email) = lower(k.email)
    JOIN memberships m ON m.user_id = u.id AND m.organization_id = k.organization_id AND m.role IN (${mayAnswer})
    WHERE k.id = ${keyId} ON CONFLICT (organization_id, email) DO NOTHING`);
  await tx.execute(sql`INSERT INTO notices (request_id, kind, approver_id, organization_id, status, next_attempt_at)
    SELECT ${id}, 'question', a.id, a.organization_id, 'pending', clock_timestamp()
    FROM approvers a JOIN api_keys k ON k.id = ${keyId} AND lower(k.email) = lower(a.email)
    WHERE a.organization_id = ${organizationId}
    ON CONFLICT (request_id, kind, approver_id)
      DO UPDATE SET status = 'pending', attempts = 0, next_attempt_at = clock_timestamp()`);
}

/**
 * Leaves the question unanswered: an agent often doesn't answer in time, and asking must not tell which requests are planted.
 */
async function askAboutPlanted(
  context: Context,
  tx: Executor,
  { id, questions: before }: AuthorizationRow,
  questions: string,
): Promise<void> {
  const isSame = sql`${plantedRequests.questions} IS NOT DISTINCT FROM ${before}`;
  const changed = await tx
    .update(plantedRequests)
    .set({ questions })
    .where(and(eq(plantedRequests.id, id), eq(plantedRequests.status, "pending"), isSame))
    .returning({ id: plantedRequests.id });
  if (changed.length === 1) return;
  await findOpen(context, id);
  throw movedMeanwhile();
}

/** Asks, by passkey where groups decide: anyone else with the link could hold the one open question, and use them all up. */
export async function askQuestion(
  context: Context,
  requestId: string,
  { question, passkey, code }: z.infer<typeof askBody>,
  ip: string,
): Promise<void> {
  const { row, actor: visitor } = await findDecidable(context, requestId, { code, ip });
  const isAskedOfGroups = parseRequest(row).required_approvers.length > 0;
  if (isAskedOfGroups && !passkey) throw needsPasskey();
  const approver = isAskedOfGroups && passkey ? await proveApprover(context, row, passkey, "ask") : null;
  const actor = approver === null ? visitor : { ...visitor, id: nameActor(approver.record) };
  const change: Change = (questions, asked_at) => {
    if (questions.length >= questionLimits.count)
      throw conflict(`${questionLimits.count} questions are the most for one request`);
    if (questions.some(({ answer }) => answer === null))
      throw conflict("a question still waits for its answer");
    return [...questions, { question, asked_at, answer: null, answered_at: null }];
  };
  await changeQuestions(context, row, { actor, action: "authorization.question", change, approver });
}

/** Answers, by the agent's key or a member of its organization. An answer is final. */
export async function answerQuestion(
  context: Context,
  requestId: string,
  principal: Principal,
  { number, answer }: z.infer<typeof answerBody>,
): Promise<void> {
  const row = await findOwn(context, requestId, principal, "answers");
  if (row.status !== "pending") throw notPending(`is ${row.status}`);
  const change: Change = (questions, answered_at) => {
    const asked = questions[number - 1];
    if (asked === undefined) throw conflict(`there is no question ${number}`);
    if (asked.answer !== null && asked.answer !== answer) throw conflict(`question ${number} has its answer`);
    return questions.with(number - 1, { ...asked, answer, answered_at: asked.answered_at ?? answered_at });
  };
  const actor = toActor(principal);
  await changeQuestions(context, row, {
    actor,
    action: "authorization.answered",
    change,
    recheck: principal,
  });
}
