/**
 * The mails to approvers. Everything that an agent wrote goes through toUnlinkedText, its sentences below a line that
 * says whose they are. The confirmation code is never here: it comes from the agent.
 */

import type { AuthorizationStatus } from "#lib/api/schemas/authorize";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { countOf } from "#lib/protocol/text/count";
import { organizationTitle } from "#lib/protocol/text/organization-name";
import { toUnlinkedText } from "#lib/protocol/text/unlinked-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { noticeUrl } from "#lib/services/accounts/approver-links";
import type { Mail } from "#lib/services/accounts/mailer";
import { linkMail } from "#lib/services/accounts/mails";
import type { Context } from "#lib/services/approvals/context";
import { approvalUrl } from "#lib/services/approvals/link";
import { environmentOf } from "#lib/services/approvals/read";
import { type AuthorizationRow, findAuthorization, parseRequest } from "#lib/services/approvals/rows";
import type { Claimed } from "./outbox";

const ends: Record<AuthorizationStatus, string> = {
  pending: "is waiting",
  approved: "was approved",
  denied: "was denied",
  expired: "expired",
  cancelled: "was cancelled",
};

function timeLeft({ millisecondsLeft }: AuthorizationRow): string {
  const minutes = Math.max(1, Math.round(millisecondsLeft / 60_000));
  return minutes < 120 ? countOf(minutes, "minute") : countOf(Math.round(minutes / 60), "hour");
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

/** Null if there is nothing left to say: it is decided, or still waits, or was erased. */
function chooseWords(kind: Claimed["kind"], row: AuthorizationRow, slug: string, approve: string) {
  if ((row.status === "pending") !== (kind !== "decided") || row.context === null) return null;
  if (kind === "decided")
    return {
      subject: `${slug}: a request ${ends[row.status]}`,
      lead: `A request of the agent ${slug} ${ends[row.status]}. Details:`,
      hints: [],
    };
  const frozen =
    row.agentFrozenAt === null
      ? []
      : ["The organization has frozen this agent. Until it is unfrozen, you can only deny."];
  const time = `It expires in ${timeLeft(row)}, at ${readableTime(row.expires_at.toISOString())}.`;
  const code = row.require_code
    ? "The page asks for a confirmation code. Get it from the agent or its operator."
    : "The page shows a confirmation code. If the agent shows you another one, deny the request.";
  const hints = [...frozen, time, code];
  return kind === "waiting"
    ? {
        subject: `${slug} requests an approval`,
        lead: `The agent ${slug} requests an approval. Open this page to see all details, then ${approve} or deny:`,
        hints,
      }
    : {
        subject: `Expires soon: ${slug} requests an approval`,
        lead: `The agent ${slug} still waits for an approval:`,
        hints,
      };
}

export async function composeNotice(context: Context, claimed: Claimed): Promise<Mail | null> {
  const { email, request_id, kind, approver_id } = claimed;
  const row = email === null ? null : await findAuthorization(context.database, request_id);
  if (email === null || row === null) return null;
  const request = parseRequest(row);
  const means = describeMeans(request);
  const words = chooseWords(kind, row, toUnlinkedText(request.agent_slug), means.approve);
  if (words === null) return null;
  const isTest = environmentOf(context, row) !== "production";
  const leave = noticeUrl(context, approver_id);
  const mail = linkMail(email, `${isTest ? "[TEST] " : ""}${words.subject} ${nameRequest(request_id)}`, {
    lead: words.lead,
    link: approvalUrl(context, request_id),
    foot: [
      { whose: "Organization:", words: organizationTitle(row.organization_name ?? row.organizationName) },
      { whose: "Action, in the agent's own words:", words: request.action },
      ...words.hints,
      ...(isTest ? ["This is a TEST: an approval here proves nothing about a person."] : []),
      `${kind === "decided" ? readable : means.forward} To stop these emails:`,
      leave,
    ],
  });
  return {
    ...mail,
    // RFC 8058: the mail program's own button.
    headers: {
      "List-Unsubscribe": `<${leave}/leave>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    idempotencyKey: `${request_id}/${kind}/${approver_id}`,
  };
}
