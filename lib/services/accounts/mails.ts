/** The mails of the portal: sign-in links, invitations, and what the service did by itself. */

import { and, eq, isNull } from "drizzle-orm";
import type { UserPrincipal } from "#lib/api/http/context";
import { approvers, memberships, organizations, users } from "#lib/db/schema";
import { AppError, fieldError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import { type ApproverChange, describeApproverChange } from "#lib/protocol/passkey/roster";
import { escapeHtml, toUnlinkedText } from "#lib/protocol/text/display-text";
import { organizationTitle, organizationTitleIn } from "#lib/protocol/text/organization-name";
import { readableTime } from "#lib/protocol/time/time-words";
import type { AccountsContext, Mail } from "./context";
import { holdRole, listMemberships, personNotFound } from "./members";

/** Words that aren't ours, below a line that says whose. */
interface Quotation {
  whose: string;
  words: string;
}

type Paragraph = string | Quotation;

/** Mail programs end lines near 78; a line that they end themselves would begin without the mark. */
const quotedLine = /\S.{0,69}(?=\s|$)|\S.{0,69}/gu;

/** A mark on each line, as mail quotes: no sign within the words can end it. */
function quoteInText({ whose, words }: Quotation): string {
  const lines = toUnlinkedText(words).match(quotedLine) ?? [""];
  return [whose, ...lines.map((line) => `> ${line.trimEnd()}`)].join("\n");
}

function quoteInHtml({ whose, words }: Quotation): string {
  const style = "margin:0;padding-left:12px;border-left:3px solid #888";
  return `<p>${escapeHtml(whose)}</p><blockquote style="${style}">${escapeHtml(toUnlinkedText(words))}</blockquote>`;
}

/** Asks mail programs that honour it for no links of their own: telephone numbers and dates stay as they are. */
const noOwnLinks = '<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">';

/** Paragraphs around one link. A paragraph that is an address of ours becomes a link too. */
export function linkMail(
  to: string,
  subject: string,
  parts: { lead: string; link: string; foot: readonly Paragraph[] },
): Mail {
  const paragraphs = [parts.lead, parts.link, ...parts.foot];
  const { origin } = new URL(parts.link);
  const toHtml = (paragraph: Paragraph) => {
    if (typeof paragraph !== "string") return quoteInHtml(paragraph);
    const text = escapeHtml(paragraph);
    const isLink = paragraph.startsWith(`${origin}/`) && !/\s/.test(paragraph);
    return isLink ? `<p><a href="${text}" style="word-break:break-all">${text}</a></p>` : `<p>${text}</p>`;
  };
  const toText = (paragraph: Paragraph) =>
    typeof paragraph === "string" ? paragraph : quoteInText(paragraph);
  return {
    to,
    subject,
    text: `${paragraphs.map(toText).join("\n\n")}\n`,
    html: `${noOwnLinks}${paragraphs.map(toHtml).join("")}`,
  };
}

/** Replaces a sign-in link or a code: the form and the API answer everybody alike. */
export function signUpClosedMail(to: string, baseUrl: string): Mail {
  return linkMail(to, "Sign-up is closed", {
    lead: "This address asked for a sign-in link or an API key of this service:",
    link: `${baseUrl}/portal/sign-in`,
    foot: [
      "New accounts are closed there, and this address belongs to no organization. Ask an owner of yours to invite this address, and open the link in that email.",
      "If you approve requests, use the links in those emails: they need no account.",
      "If you didn't ask, ignore this email.",
    ],
  });
}

export function signInMail(to: string, link: string, lifetimeMinutes: number): Mail {
  return linkMail(to, "Your sign-in link for Countersign", {
    lead: `Open this link and press the button to sign in. It works once and expires in ${lifetimeMinutes} minutes.`,
    link,
    foot: ["If you didn't request it, ignore this email. Nothing happens until you press the button."],
  });
}

interface InvitationFacts {
  readonly invitedBy: string;
  readonly organizationName: string | null;
  readonly lifetimeDays: number;
}

/** The organization's name is free text of the sender's, and this mail goes out in our name: it is quoted, as theirs. */
export function invitationMail(
  to: string,
  link: string,
  { invitedBy, organizationName, lifetimeDays }: InvitationFacts,
): Mail {
  return linkMail(to, "You are invited to an organization on Countersign", {
    lead: `${invitedBy} invited you to join an organization. The link works once and expires in ${lifetimeDays} days.`,
    link,
    foot: [
      ...(organizationName === null
        ? []
        : [{ whose: "Its name, in its owner's words:", words: organizationName }]),
      "If you don't know the sender, ignore this email. Nothing happens until you accept.",
    ],
  });
}

/** Omits the names of the organization and of the approver: they are free text of the sender's. */
export function approverMail(
  to: string,
  link: string,
  { invitedBy, lifetimeDays }: { invitedBy: string; lifetimeDays: number },
): Mail {
  return linkMail(to, "Confirm that you want approval requests from Countersign", {
    lead: `${invitedBy} wants to send you the approval requests of their organization's AI agents. Open this link to accept or decline. It expires in ${lifetimeDays} days.`,
    link,
    foot: [
      "If you don't know the sender, ignore this email. You get no other email from them unless you accept.",
    ],
  });
}

/** Omits the receiver's address, which is free text too: the link shows it. */
export function webhookDisabledMail(to: string, link: string, why: string): Mail {
  return linkMail(to, "A webhook endpoint on Countersign was disabled", {
    lead: `One of your organization's webhook endpoints was disabled because ${why}. Nothing more is sent to it until you enable it again:`,
    link,
    foot: ["Messages that were not delivered are listed there for 30 days, and can be sent again."],
  });
}

export function domainLostMail(to: string, link: string, domain: string): Mail {
  return linkMail(to, `${domain} is no longer verified on Countersign`, {
    lead: `The proof that ${domain} belongs to your organization is gone. New approval requests no longer show the domain. Publish the proof again and check it here:`,
    link,
    foot: ["Requests that were made before stay as they are."],
  });
}

/** `version`: null while a second owner must confirm the change. */
export function rulesChangedMail(
  to: string,
  link: string,
  { author, version }: { author: string; version: number | null },
): Mail {
  return version === null
    ? linkMail(to, "A change of your rules waits for a second owner on Countersign", {
        lead: `${author} proposed a change of the rules that decide which agents may act without asking. Another owner must confirm it:`,
        link,
        foot: ["Until then the rules stay as they are."],
      })
    : linkMail(to, `Your rules on Countersign were changed: version ${version}`, {
        lead: `${author} changed the rules that decide which agents may act without asking. See what changed:`,
        link,
        foot: ["Every owner gets this email. The change is in your audit log and in the public log."],
      });
}

/** `says`: our own sentence, without words of the owner's. */
export function retentionMail(to: string, link: string, author: string, says: string): Mail {
  return linkMail(to, "How long your organization's content is kept has changed on Countersign", {
    lead: `${author} changed how long content is kept: ${says} See it in the settings:`,
    link,
    foot: ["Every owner gets this email. The change is in your audit log."],
  });
}

export function passkeyMail(to: string, link: string): Mail {
  return linkMail(to, "Your link for passkeys on Countersign", {
    lead: "Open this link to add or remove your passkeys as an approver. It expires in 30 minutes.",
    link,
    foot: [
      "If you didn't request it, ignore this email. Nothing happens until you press a button on the page.",
    ],
  });
}

const passkeyEvents = {
  enrolled: {
    subject: "A passkey was added to your approver identity",
    lead: "A new passkey can approve requests in your name.",
  },
  removed: {
    subject: "A passkey was removed from your approver identity",
    lead: "One of your passkeys no longer approves requests.",
  },
} as const;

/** Written to the person whose passkey it is. `link`: where they ask for a fresh one. */
export function passkeyEventMail(to: string, link: string, event: keyof typeof passkeyEvents): Mail {
  const { subject, lead } = passkeyEvents[event];
  return linkMail(to, `${subject} on Countersign`, {
    lead: `${lead} If this wasn't you, open this page and request a link to remove it, and tell the organization:`,
    link,
    foot: [],
  });
}

/** `time`: null when it has ended. Names are free text of others. */
export function deputyMail(
  to: string,
  link: string,
  about: { person: string; organization: string | null; time: { from: string; until: string } | null },
): Mail {
  const { person, organization, time } = about;
  const whose = [
    { whose: "Approver:", words: person },
    { whose: "Organization:", words: organizationTitle(organization) },
  ];
  return time === null
    ? linkMail(to, "You are no longer an approver's deputy on Countersign", {
        lead: "You no longer decide an approver's requests in their place. What you decided stays as it is. Your own requests are in your inbox:",
        link,
        foot: whose,
      })
    : linkMail(to, "You are an approver's deputy on Countersign", {
        lead: `From ${readableTime(time.from)} to ${readableTime(time.until)} you decide an approver's requests in their place, with your own passkey. They are in your inbox:`,
        link,
        foot: [...whose, "If you don't want this, ask them to end it."],
      });
}

/** Written to every owner, so that nobody becomes an approver unseen. */
export function rosterMail(
  to: string,
  link: string,
  number: number,
  changes: readonly ApproverChange[],
): Mail {
  const words = changes.map(describeApproverChange).join("; ");
  return linkMail(to, "Who can approve has changed on Countersign", {
    lead: `Your organization's roster of approvers has changed; it is now number ${number}. The audit log says who did it. Approvers:`,
    link,
    foot: [
      { whose: "What changed:", words },
      "If you don't expect this, remove the passkey or the person there.",
    ],
  });
}

/* A mail to each owner of an organization, about what the service did by itself. One that is refused ends nothing else. */

/** Limit that keeps one person's repeated changes from using up the mails of all organizations. */
const perHour = 60;

export async function mailOwners(
  { database, mailer, logger, limiter }: AccountsContext,
  organizationId: string,
  about: "domains" | "retention" | "roster" | "rules" | "webhooks",
  write: (to: string) => Mail,
): Promise<{ sent: number; failed: number }> {
  const owners = await database.db
    .select({ email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(and(eq(memberships.organization_id, organizationId), eq(memberships.role, "owner")));
  const policy = { name: `owner_mails_${about}`, limit: perHour, windowSeconds: 3600 };
  if (!(await limiter.consume(policy, organizationId)).allowed) {
    logger.warn({ organization: organizationId, about }, "owners get no more mails of a kind in this hour");
    return { sent: 0, failed: owners.length };
  }
  const results = await Promise.allSettled(owners.map(async ({ email }) => mailer.send(write(email))));
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) logger.warn({ err: reason }, "a mail to an owner could not be sent");
  return { sent: results.length - failures.length, failed: failures.length };
}

/* Emails that each person wants, for each organization that they belong to or are an approver of. */

export interface NoticeSettings {
  requests: "all" | "named" | "none";
  decisions: boolean;
  /** Sent once, before a request expires. */
  reminders: boolean;
  /** Subjects name what runs; absent: as it was. */
  titles?: boolean;
}

const off: NoticeSettings = { requests: "none", decisions: false, reminders: false };
const usual: NoticeSettings = { requests: "named", decisions: false, reminders: false };

export async function listNoticeSettings(context: AccountsContext, user: UserPrincipal) {
  const { db } = context.database;
  const memberships = await listMemberships(db, user.userId);
  const rows = await db
    .select({
      organizationId: approvers.organization_id,
      name: organizations.name,
      status: approvers.status,
      requests: approvers.requests,
      decisions: approvers.decisions,
      reminders: approvers.reminders,
      titles: approvers.subject_titles,
    })
    .from(approvers)
    .innerJoin(organizations, eq(organizations.id, approvers.organization_id))
    .where(and(eq(approvers.email, user.email), isNull(organizations.deleted_at)));
  const toSettings = (row: (typeof rows)[number] | undefined): NoticeSettings => {
    if (row === undefined) return usual;
    const { status, requests, decisions, reminders, titles } = row;
    return status === "left" ? off : { requests, decisions, reminders, titles };
  };
  const isOwn = (organizationId: string) => memberships.some((one) => one.organizationId === organizationId);
  const asMember = memberships.map(({ organizationId, name }) => ({
    organizationId,
    name,
    isMember: true,
    ...toSettings(rows.find((row) => row.organizationId === organizationId)),
  }));
  const asApprover = rows
    .filter(({ organizationId, status }) => status === "confirmed" && !isOwn(organizationId))
    .map((row) => ({
      organizationId: row.organizationId,
      name: row.name,
      isMember: false,
      ...toSettings(row),
    }));
  const all = [...asMember, ...asApprover];
  return all.map((one) => ({ ...one, name: organizationTitleIn(all, one) }));
}

/** Confirms a member too: they are signed in with the address. */
export async function saveNoticeSettings(
  context: AccountsContext,
  user: UserPrincipal,
  organizationId: string,
  { titles, ...settings }: NoticeSettings,
): Promise<void> {
  const { db } = context.database;
  const wanted = { ...settings, ...(titles !== undefined && { subject_titles: titles }) };
  const memberships = await listMemberships(db, user.userId);
  if (memberships.some((one) => one.organizationId === organizationId)) {
    const id = uuidV7(context.clock().getTime(), context.random(16));
    const set = { ...wanted, status: "confirmed" } as const;
    await db.transaction(async (tx) => {
      const isOff = !settings.decisions && !settings.reminders && settings.requests === "none";
      const role = await holdRole(tx, { ...user, organizationId }, "read");
      // Auditors get none: the link in such an email decides.
      if (role === "auditor" && !isOff)
        throw new AppError(
          "forbidden",
          "an auditor decides nothing, so gets no emails to decide by: ask an owner",
        );
      await tx
        .insert(approvers)
        .values({ id, organization_id: organizationId, email: user.email, ...set })
        .onConflictDoUpdate({ target: [approvers.organization_id, approvers.email], set });
    });
    return;
  }
  if (wanted.requests === "all")
    throw fieldError("validation_error", "requests", "only members can get emails about all requests");
  const changed = await db
    .update(approvers)
    .set({ ...wanted })
    .where(
      and(
        eq(approvers.organization_id, organizationId),
        eq(approvers.email, user.email),
        eq(approvers.status, "confirmed"),
      ),
    )
    .returning({ id: approvers.id });
  if (changed.length === 0) throw personNotFound();
}
