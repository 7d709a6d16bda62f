/**
 * Sends the notices that are due, in the background. A process that dies loses none, and a mailbox that is slow to take a
 * mail keeps no other organization waiting.
 */

import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import { arrayLiteral, type Database } from "#lib/db/client";
import type { notices } from "#lib/db/schema";
import { claimDue, createDueWork, type DueWork, randomShare, startInterval } from "#lib/jobs/due-work";
import { formatAmount } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { describeTerms, type FactId, type Facts, listFacts } from "#lib/protocol/record/facts";
import { isWorded } from "#lib/protocol/record/title";
import { formatCount, toUnlinkedText } from "#lib/protocol/text/display-text";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { readableTime } from "#lib/protocol/time/time-words";
import { noticeUrl } from "#lib/services/accounts/approvers";
import type { Mail } from "#lib/services/accounts/context";
import { linkMail } from "#lib/services/accounts/mails";
import { lookMinutes } from "#lib/services/approvals/attention";
import type { Context } from "#lib/services/approvals/context";
import { findOpenQuestion, readRequestFacts } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  approvalUrl,
  findAuthorization,
  parseRequest,
} from "#lib/services/approvals/rows";
import { findPause } from "#lib/services/webhooks/deliver";
import { hashText, type PushMessage, pushToDevices } from "./push";

/*
 * The mails: everything that an agent wrote goes through toUnlinkedText, its sentences below a line that says whose they
 * are. The confirmation code is never here: it comes from the agent.
 */
const ends: Record<AuthorizationStatus, string> = {
  pending: "is waiting",
  approved: "was approved",
  denied: "was denied",
  expired: "expired",
  cancelled: "was cancelled",
};

function timeLeft({ millisecondsLeft }: AuthorizationRow): string {
  const minutes = Math.max(1, Math.round(millisecondsLeft / 60_000));
  return minutes < 120 ? formatCount(minutes, "minute") : formatCount(Math.round(minutes / 60), "hour");
}

const readable = "Anyone with the first link can read the request, so don't forward this email.";

/** Describes the means: enrolled approvers of required groups decide by passkey, with World ID too if a level is asked for. */
function describeMeans({ required_approvers, required_level }: ApprovalRequest) {
  if (required_approvers.length === 0)
    return {
      approve: "approve with World ID",
      forward: "Anyone with the first link can decide, so don't forward this email.",
    };
  const means = required_level === "none" ? "passkey" : "passkey and World ID";
  return {
    approve: `approve with your ${means}`,
    forward: `Only enrolled approvers can decide, with their passkeys. ${readable}`,
  };
}

/** Names a request in a subject, so that mail programs don't join two into one thread; what is left out is the secret. */
const nameRequest = (requestId: string) => `(#${requestId.slice(requestId.indexOf("_") + 1).slice(0, 6)})`;

const maxPayee = 60;
/** Room for a call's title and the number of its other lines. */
const maxCall = 120;

/** Agents' words in a subject: never a link, and not all of it. */
function shorten(text: string, max: number): string {
  const characters = [...toUnlinkedText(text)];
  return characters.length <= max ? characters.join("") : `${characters.slice(0, max).join("")}…`;
}

/** "12,000.50 EUR to Example Ltd: ", before what else is said. */
function describeStake({ amount, payee, terms }: Facts): string {
  if (terms !== null) return `Standing approval, ${describeTerms(terms)}: `;
  const to = payee === null ? "" : ` to ${shorten(payee, maxPayee)}`;
  return amount === null ? "" : `${formatAmount(amount)}${to}: `;
}

/**
 * "12,000.50 EUR to Example Ltd: treasury-bot asks you": the same for all mails about a request. `title`: what runs, for
 * people who want it there.
 */
function describeSubject(facts: Facts, title: string | null, isQuestion: boolean): string {
  const agent = toUnlinkedText(facts.agent ?? "");
  return `${describeStake(facts)}${isQuestion ? `a question to ${agent}` : `${agent} asks you`}${title === null ? "" : `: ${shorten(title, maxCall)}`}`;
}

/** Null if there is nothing left to say: it is decided, or still waits, or was erased. */
function chooseWords(kind: Claimed["kind"], row: AuthorizationRow, slug: string, approve: string) {
  if ((row.status === "pending") !== (kind !== "decided") || row.context === null) return null;
  if (kind === "decided")
    return {
      lead: `This request of the agent ${slug} ${row.amended_by === null ? ends[row.status] : "was changed into another one"}.`,
      hints: [],
    };
  const frozen =
    row.agentFrozenAt === null
      ? []
      : ["The organization has frozen this agent. Until it is unfrozen, you can only deny."];
  const time = `It expires in ${timeLeft(row)}, at ${readableTime(row.expires_at.toISOString())}.`;
  if (kind === "question")
    return findOpenQuestion(row) === null
      ? null
      : {
          lead: `Somebody who decides about a request of the agent ${slug} has a question. Answer it here, if the agent doesn't:`,
          hints: [time, "The question doesn't change that."],
        };
  const code = row.require_code
    ? "The page asks for a confirmation code. Get it from the agent or its operator."
    : "The page shows a confirmation code. If the agent shows you another one, deny the request.";
  const hints = [...frozen, time, code];
  return kind === "waiting"
    ? {
        lead: `The agent ${slug} requests an approval. Open this page to see all details, then ${approve} or deny:`,
        hints,
      }
    : { lead: `Expires soon: the agent ${slug} still waits for an approval:`, hints };
}

/**
 * Labels are ours, the rest is not; who decided is only of interest once somebody has. `hasTitle`: mail servers may read
 * what runs.
 */
function quoteFacts(facts: Facts, isDecided: boolean, hasTitle: boolean) {
  const call: readonly FactId[] = hasTitle ? ["title"] : [];
  const wanted: readonly FactId[] = ["amount", "payee", ...call, "what", "tool", "requester", "limits"];
  const decision: readonly FactId[] = isDecided ? ["decided", "people", "decided_at"] : [];
  const whose: Partial<Record<FactId, string>> = {
    title: "Call, in the agent's own words:",
    what: actionWords,
    payee: "To, in the agent's own words:",
    requester: "Requested by, in the caller's own words:",
  };
  return listFacts(facts)
    .filter(({ id }) => [...wanted, ...decision].includes(id))
    .map(({ id, label, text }) => ({ whose: whose[id] ?? `${label}:`, words: text }));
}

interface Notice {
  mail: Mail;
  /** Null for what is no reason to take a phone out. */
  push: PushMessage | null;
  /** Agents' words in it are no links. */
  heading: string;
  /** Names what is asked, for a device beside others; no links either. */
  line: string;
  /** True if the heading names the agent and nothing of the request. */
  isBare: boolean;
  expiresAt: Date;
  /** Empty once it is decided. */
  time: string;
  /** Words of the agent; null if the heading says them. */
  action: string | null;
  agent: string;
  isTest: boolean;
}

const actionWords = "Action, in the agent's own words:";
/** Characters of each, of up to a hundred in one mail. */
const maxAction = 200;

function quoteNotice({ heading, action, isBare }: Notice) {
  const quoted = { whose: "Request:", words: heading };
  if (action === null) return [quoted];
  const characters = [...action];
  const words = characters.length > maxAction ? `${characters.slice(0, maxAction).join("")} …` : action;
  return [...(isBare ? [] : [quoted]), { whose: actionWords, words }];
}

/** Bundles several requests of an agent into one mail and one message. */
function bundleNotices({ settings }: Context, first: Notice, others: readonly Notice[]): Notice {
  const { agent, mail } = first;
  if (others.length === 0) return first;
  const all = [first, ...others].sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime());
  const mark = all.every(({ isTest }) => isTest) ? "[TEST] " : "";
  const heading = `${mark}${agent} asks you ${all.length} times`;
  const inbox = `${settings.baseUrl}/portal/inbox`;
  const leave = /<(.+)\/leave>/.exec(mail.headers?.["List-Unsubscribe"] ?? "")?.[1] ?? inbox;
  const ids = all.map(({ mail: one }) => one.idempotencyKey ?? "").sort();
  const words = linkMail(mail.to, heading, {
    lead: `The agent ${agent} requests ${all.length} approvals. Your inbox shows equal ones together:`,
    link: inbox,
    foot: [
      ...all.flatMap((one) => [
        ...quoteNotice(one),
        ...(one.time === "" ? [] : [one.time]),
        one.push?.url ?? inbox,
      ]),
      "Anyone with these links can read the requests, so don't forward this email. To stop these emails:",
      leave,
    ],
  });
  const seconds = Math.min(...all.map(({ push }) => push?.seconds ?? 1));
  const subject = first.push?.subject ?? heading;
  const body = all.map(({ line }) => line).join("; ");
  const push = { title: heading, body, url: inbox, subject, seconds };
  return { ...first, heading, push, mail: { ...mail, ...words, idempotencyKey: hashText(ids.join()) } };
}

async function composeNotice(context: Context, claimed: Claimed): Promise<Notice | null> {
  const { email, request_id, kind, approver_id, has_titles: hasTitles } = claimed;
  const row = email === null ? null : await findAuthorization(context.database, request_id);
  if (email === null || row === null) return null;
  const request = parseRequest(row);
  const means = describeMeans(request);
  const words = chooseWords(kind, row, toUnlinkedText(request.agent_slug), means.approve);
  if (words === null) return null;
  const isDecided = kind === "decided";
  const facts = await readRequestFacts(context, row);
  const { isTest } = facts;
  const { action: asked, tool = null } = request;
  const call = facts.title ?? asked;
  const title = facts.title !== null && isWorded(asked, tool) ? `${asked}: ${call}` : call;
  const heading = `${isTest ? "[TEST] " : ""}${describeSubject(facts, hasTitles ? title : null, kind === "question")}`;
  const subject = `${heading} ${nameRequest(request_id)}`;
  const leave = noticeUrl(context, approver_id);
  const isReply = kind === "reminder" || kind === "decided";
  const open = kind === "question" ? findOpenQuestion(row) : null;
  // Gmail joins the mails of a thread only if their subjects are the same but for "Re:".
  const mail = linkMail(email, `${isReply ? "Re: " : ""}${subject}`, {
    lead: words.lead,
    link:
      open === null
        ? approvalUrl(context, request_id)
        : `${context.settings.baseUrl}/portal/authorizations/${request_id}`,
    foot: [
      ...(open === null
        ? []
        : [{ whose: "Question, in the words of whoever asked it:", words: open.question }]),
      { whose: "Organization:", words: organizationTitle(row.organization_name ?? row.organizationName) },
      ...quoteFacts(facts, isDecided, hasTitles === true),
      ...words.hints,
      ...(isTest ? ["This is a TEST: an approval here proves nothing about a person."] : []),
      `${open !== null ? "" : `${isDecided ? readable : means.forward} `}To stop these emails:`,
      leave,
    ],
  });
  const time = `Expires in ${timeLeft(row)}.`;
  const message = {
    title: heading,
    body: `${toUnlinkedText(title)}. ${time}`,
    url: approvalUrl(context, request_id),
    subject: request_id,
    seconds: Math.max(1, Math.round(row.millisecondsLeft / 1_000)),
  };
  const headed: Mail = {
    ...mail,
    // RFC 8058: the mail program's own button.
    headers: {
      "List-Unsubscribe": `<${leave}/leave>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    thread: { key: `${request_id}/${approver_id}${open === null ? "" : "/question"}`, isReply },
    idempotencyKey: `${request_id}/${kind}${open?.number ?? ""}/${approver_id}`,
  };
  const agent = toUnlinkedText(request.agent_slug);
  const action = hasTitles && title === asked ? null : asked;
  const stake = describeStake(facts);
  const line = `${stake}${shorten(title, maxCall)}`;
  const push = isDecided || open !== null ? null : message;
  const isBare = stake === "" && !hasTitles;
  const shown = { heading, line, isBare, action, agent, isTest };
  return { mail: headed, push, ...shown, expiresAt: row.expires_at, time: isDecided ? "" : time };
}

export type Due = Pick<
  typeof notices.$inferSelect,
  "request_id" | "kind" | "approver_id" | "organization_id"
>;

const maxDue = 64;

/** Reads in rounds: first one of each organization, then each one's second, and so on. `$1`: what to leave out. */
const dueReader = (database: Database) =>
  database.statement<Due>(
    `SELECT request_id, kind, approver_id, organization_id FROM (
       SELECT *, row_number() OVER (PARTITION BY organization_id ORDER BY next_attempt_at) AS place
       FROM notices WHERE status = 'pending' AND next_attempt_at <= clock_timestamp()
         AND request_id || ' ' || kind || ' ' || approver_id <> ALL ($1::text[])
     ) AS due
     ORDER BY place, next_attempt_at LIMIT ${maxDue}`,
  );

interface Claimed extends Due {
  attempts: number;
  /** Address at the time of the claim; null if this person is not to get it any more. */
  email: string | null;
  /** Their subjects name what runs. */
  has_titles: boolean | null;
  /** While a person who is signed in says that they are looking at the request; null if nobody does. */
  looked_seconds: number | null;
}

const claimNotice = ({ database }: Context, { request_id, kind, approver_id }: Due) =>
  claimDue<Claimed>(database, {
    table: "notices",
    key: { request_id, kind, approver_id },
    select: `SELECT c.*, coalesce(a.email, q.email) AS email, p.subject_titles AS has_titles,
        (SELECT extract(epoch FROM max(l.looked_at) + interval '${lookMinutes} minutes' - clock_timestamp())::float8
          FROM looks l WHERE l.request_id = c.request_id AND l.name <> '') AS looked_seconds
      FROM claimed c
      LEFT JOIN approvers p ON p.id = c.approver_id
      LEFT JOIN request_audience a ON a.request_id = c.request_id AND a.approver_id = c.approver_id
        AND CASE c.kind WHEN 'waiting' THEN a.waiting WHEN 'reminder' THEN a.reminder WHEN 'decided' THEN a.decided END
      LEFT JOIN approvers q ON q.id = p.id AND c.kind = 'question' AND q.status = 'confirmed' AND q.requests <> 'none'
        AND EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
          WHERE m.organization_id = c.organization_id AND u.email = q.email)`,
  });

type Change = { status: "sent" | "dropped" | "failed" } | { againSeconds: number; isAttempt: boolean };

async function settleNotice({ database }: Context, claimed: Claimed, change: Change): Promise<void> {
  const isOver = "status" in change;
  await database.query(
    `UPDATE notices SET status = $5, attempts = attempts - $6::int,
       next_attempt_at = clock_timestamp() + make_interval(secs => $7::float8)
     WHERE request_id = $1 AND kind = $2 AND approver_id = $3 AND attempts = $4 AND status = 'pending'`,
    [
      claimed.request_id,
      claimed.kind,
      claimed.approver_id,
      claimed.attempts,
      isOver ? change.status : "pending",
      isOver || change.isAttempt ? 0 : 1,
      isOver ? 0 : change.againSeconds,
    ],
  );
}

const roundMs = 1_000;

/** An agent that asks all the time can't fill a mailbox. Null if there is room, else for how long there is none. */
async function findWaitSeconds(context: Context, { organization_id, approver_id }: Claimed) {
  const {
    LIMIT_NOTICES_PER_ADDRESS_PER_HOUR: perAddress,
    LIMIT_NOTICES_PER_ORGANIZATION_PER_HOUR: perOrganization,
  } = context.settings;
  const ofAddress = { name: "notices_address", limit: perAddress, windowSeconds: 3600 };
  const ofOrganization = { name: "notices_organization", limit: perOrganization, windowSeconds: 3600 };
  const { limiter } = context;
  // A mail that the organization's limit holds back doesn't count for the address.
  let state = limiter.spent(ofOrganization, organization_id);
  state ??= await limiter.consume(ofAddress, approver_id);
  if (state.allowed) state = await limiter.consume(ofOrganization, organization_id);
  return state.allowed ? null : Math.max(1, (state.resetMs - context.clock().getTime()) / 1000);
}

const bundleSeconds = 60;

interface Beside extends Pick<Due, "request_id"> {
  status: "pending" | "sent";
  /** Seconds since it was sent. */
  age: number;
}

/** Notices of the same agent that the person got or would get within the same minute. */
const readBeside = ({ database }: Context, { request_id, approver_id }: Due) =>
  database.statement<Beside>(
    `SELECT n.request_id, n.status, extract(epoch FROM clock_timestamp() - n.next_attempt_at)::float8 AS age
     FROM notices n JOIN shown_requests r ON r.id = n.request_id
     WHERE n.created_at > clock_timestamp() - interval '1 day' AND n.approver_id = $2 AND n.kind = 'waiting'
       AND n.request_id <> $1 AND r.agent_id = (SELECT agent_id FROM shown_requests WHERE id = $1)
       AND CASE n.status WHEN 'pending' THEN n.next_attempt_at <= clock_timestamp() + interval '${bundleSeconds + 1} seconds'
         WHEN 'sent' THEN n.next_attempt_at > clock_timestamp() - interval '${bundleSeconds} seconds' ELSE false END
     ORDER BY n.request_id LIMIT 100`,
  )(request_id, approver_id);

type Bundle = { againSeconds: number } | { others: string[] };

/**
 * The first of an agent is sent at once; what follows within a minute waits for its end and goes as one. Of those that
 * wait, the first by id takes the others along.
 */
async function findBundle(context: Context, claimed: Claimed): Promise<Bundle> {
  if (claimed.kind !== "waiting") return { others: [] };
  const beside = await readBeside(context, claimed);
  const sentAges = beside.filter(({ status }) => status === "sent").map(({ age }) => age);
  if (sentAges.length > 0) return { againSeconds: Math.max(1, bundleSeconds - Math.min(...sentAges)) };
  const others = beside.map(({ request_id }) => request_id);
  const [first] = others;
  return first !== undefined && first < claimed.request_id ? { againSeconds: 2 } : { others };
}

const settleOthers = ({ database }: Context, { approver_id }: Claimed, ids: readonly string[]) =>
  database.query(
    `UPDATE notices SET status = 'sent', next_attempt_at = clock_timestamp()
     WHERE approver_id = $1 AND kind = 'waiting' AND status = 'pending' AND request_id = ANY ($2::text[])`,
    [approver_id, arrayLiteral(ids)],
  );

async function send(context: Context, claimed: Claimed): Promise<void> {
  const settle = (change: Change) => settleNotice(context, claimed, change);
  const own = await composeNotice(context, claimed);
  if (own === null) return settle({ status: "dropped" });
  // Held back while somebody is deciding.
  if (["waiting", "reminder"].includes(claimed.kind) && (claimed.looked_seconds ?? 0) > 0)
    return settle({ againSeconds: claimed.looked_seconds ?? 0, isAttempt: false });
  const bundle = await findBundle(context, claimed);
  if ("againSeconds" in bundle) return settle({ ...bundle, isAttempt: false });
  const others = await Promise.all(
    bundle.others.map((request_id) => composeNotice(context, { ...claimed, request_id })),
  );
  const notice = bundleNotices(
    context,
    own,
    others.filter((other) => other !== null),
  );
  const waitSeconds = await findWaitSeconds(context, claimed);
  if (waitSeconds !== null) return settle({ againSeconds: waitSeconds, isAttempt: false });
  try {
    // A mail as well would be a second interruption; it is what is left if no device took the message.
    const taken = notice.push === null ? 0 : await pushToDevices(context, claimed.approver_id, notice.push);
    if (taken === 0) await context.mailer.send(notice.mail);
    if (bundle.others.length > 0) await settleOthers(context, claimed, bundle.others);
  } catch (error) {
    context.logger.warn({ err: error }, "an approver's mail could not be sent; it is tried again");
    const failed = { attempts: claimed.attempts, status: null, retryAfterSeconds: null };
    const againSeconds = findPause(failed, randomShare(context));
    return settle(againSeconds === null ? { status: "failed" } : { againSeconds, isAttempt: true });
  }
  await settle({ status: "sent" });
}

export function createNotices(context: Context): DueWork {
  const readDue = dueReader(context.database);
  return createDueWork<Due, Claimed>({
    slots: 32,
    slotsOfOwner: 4,
    readDue: (except) => readDue(arrayLiteral(except)),
    getName: ({ request_id, kind, approver_id }) => `${request_id} ${kind} ${approver_id}`,
    getShare: ({ organization_id }) => ({ lane: "other", owners: [`organization ${organization_id}`] }),
    claim: (due) => claimNotice(context, due),
    attempt: (claimed) => send(context, claimed),
    onError: (error) => context.logger.warn({ err: error }, "a notice could not be sent; it is tried again"),
  });
}

export const startNotices = (context: Context): (() => Promise<void>) =>
  startInterval(roundMs, createNotices(context).runAll, (error) =>
    context.logger.warn({ err: error }, "a round of notices failed"),
  );
