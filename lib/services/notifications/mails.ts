/**
 * The mails to approvers. Everything that an agent wrote goes through toUnlinkedText, its sentences below a line that
 * says whose they are. The confirmation code is never here: it comes from the agent.
 */

import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import { formatAmount } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { describeTerms, type FactId, type Facts, listFacts } from "#lib/protocol/record/facts";
import { deriveTitle } from "#lib/protocol/record/title";
import { formatCount, toUnlinkedText } from "#lib/protocol/text/display-text";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { readableTime } from "#lib/protocol/time/time-words";
import { noticeUrl } from "#lib/services/accounts/approvers";
import { linkMail, type Mail } from "#lib/services/accounts/mails";
import type { Context } from "#lib/services/approvals/context";
import { readRequestFacts } from "#lib/services/approvals/decision/list-approvers";
import { findOpenQuestion } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  approvalUrl,
  findAuthorization,
  parseContext,
  parseRequest,
} from "#lib/services/approvals/rows";
import { hashText, type PushMessage } from "./push";
import type { Claimed } from "./send";

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

/** Only enrolled approvers of required groups decide, by passkey, with World ID too if a level is asked for. */
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

/** Agents' words in a subject: never a link, and not all of it. */
function shorten(text: string): string {
  const characters = [...toUnlinkedText(text)];
  return characters.length <= maxPayee ? characters.join("") : `${characters.slice(0, maxPayee).join("")}…`;
}

/**
 * "12,000.50 EUR to Example Ltd: treasury-bot asks you": the same for all mails about a request. `title`: what runs, for
 * people who want it there.
 */
function describeSubject(
  { amount, payee, terms, agent: slug }: Facts,
  title: string | null,
  isQuestion: boolean,
): string {
  const agent = toUnlinkedText(slug ?? "");
  const to = payee === null ? "" : ` to ${shorten(payee)}`;
  const what =
    terms !== null
      ? `Standing approval, ${describeTerms(terms)}: `
      : amount === null
        ? ""
        : `${formatAmount(amount)}${to}: `;
  return `${what}${isQuestion ? `a question to ${agent}` : `${agent} asks you`}${title === null ? "" : `: ${shorten(title)}`}`;
}

/** Null if there is nothing left to say: it is decided, or still waits, or was erased. */
function chooseWords(kind: Claimed["kind"], row: AuthorizationRow, slug: string, approve: string) {
  if ((row.status === "pending") !== (kind !== "decided") || row.context === null) return null;
  if (kind === "decided")
    return { lead: `This request of the agent ${slug} ${ends[row.status]}.`, hints: [] };
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

/** Labels are ours, the rest is not; who decided is only of interest once somebody has. */
function quoteFacts(facts: Facts, isDecided: boolean) {
  const wanted: readonly FactId[] = ["amount", "payee", "what", "tool", "requester", "limits"];
  const decision: readonly FactId[] = isDecided ? ["decided", "people", "decided_at"] : [];
  const whose: Partial<Record<FactId, string>> = {
    what: "Action, in the agent's own words:",
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
  agent: string;
}

/** One mail and one message for several requests of an agent. */
export function bundleNotices({ settings }: Context, first: Notice, others: readonly Notice[]): Notice {
  const { agent, mail } = first;
  if (others.length === 0) return first;
  const all = [first, ...others];
  const heading = `${agent} asks you ${all.length} times`;
  const inbox = `${settings.baseUrl}/portal/inbox`;
  const leave = /<(.+)\/leave>/.exec(mail.headers?.["List-Unsubscribe"] ?? "")?.[1] ?? inbox;
  const ids = all.map(({ mail: one }) => one.idempotencyKey ?? "").sort();
  const words = linkMail(mail.to, heading, {
    lead: `The agent ${agent} requests ${all.length} approvals. Your inbox shows equal ones together:`,
    link: inbox,
    foot: [
      ...all.flatMap(({ heading: one, push }) => [{ whose: "Request:", words: one }, push?.url ?? inbox]),
      "Anyone with these links can read the requests, so don't forward this email. To stop these emails:",
      leave,
    ],
  });
  const seconds = Math.min(...all.map(({ push }) => push?.seconds ?? 1));
  const subject = first.push?.subject ?? heading;
  const body = all.map(({ heading: one }) => one).join("; ");
  const push = { title: heading, body, url: inbox, subject, seconds };
  return { ...first, heading, push, mail: { ...mail, ...words, idempotencyKey: hashText(ids.join()) } };
}

export async function composeNotice(context: Context, claimed: Claimed): Promise<Notice | null> {
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
  const title = hasTitles
    ? deriveTitle({ action: request.action, tool: request.tool ?? null, context: parseContext(row) })
    : null;
  const heading = `${isTest ? "[TEST] " : ""}${describeSubject(facts, title, kind === "question")}`;
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
      ...quoteFacts(facts, isDecided),
      ...words.hints,
      ...(isTest ? ["This is a TEST: an approval here proves nothing about a person."] : []),
      `${open !== null ? "" : `${isDecided ? readable : means.forward} `}To stop these emails:`,
      leave,
    ],
  });
  const push = {
    title: heading,
    body: `${toUnlinkedText(request.action)}. Expires in ${timeLeft(row)}.`,
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
  return { mail: headed, push: isDecided || open !== null ? null : push, heading, agent };
}
