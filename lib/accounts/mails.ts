/** The mails of the portal: sign-in links, invitations, and what the service did by itself. */
import { escapeHtml } from "#lib/core/text/escape-html";
import { toUnlinkedText } from "#lib/core/text/unlinked-text";
import type { Mail } from "#lib/mail/mailer";

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
    return isLink ? `<p><a href="${text}">${text}</a></p>` : `<p>${text}</p>`;
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

export function signInMail(to: string, link: string, lifetimeMinutes: number): Mail {
  return linkMail(to, "Your sign-in link for Countersign", {
    lead: `Open this link and press the button to sign in. It works once and expires in ${lifetimeMinutes} minutes.`,
    link,
    foot: ["If you didn't request it, ignore this e-mail. Nothing happens until you press the button."],
  });
}

/** Without the organization's name: it is free text of the sender's, and this mail goes out in our name. */
export function invitationMail(
  to: string,
  link: string,
  { invitedBy, lifetimeDays }: { invitedBy: string; lifetimeDays: number },
): Mail {
  return linkMail(to, "An invitation to an organization on Countersign", {
    lead: `${invitedBy} invited you to join their organization on Countersign. The link works once and expires in ${lifetimeDays} days.`,
    link,
    foot: ["If you don't know the sender, ignore this e-mail. Nothing happens until you accept."],
  });
}

/** Without the names of the organization and of the approver, for the same reason. */
export function approverMail(
  to: string,
  link: string,
  { invitedBy, lifetimeDays }: { invitedBy: string; lifetimeDays: number },
): Mail {
  return linkMail(to, "Confirm that you want approval requests from Countersign", {
    lead: `${invitedBy} wants to send you the approval requests of their organization's AI agents. Open this link to accept or decline. It expires in ${lifetimeDays} days.`,
    link,
    foot: [
      "If you don't know the sender, ignore this e-mail. You get no other e-mail from them unless you accept.",
    ],
  });
}

/** Without the receiver's address, which is free text too: the link shows it. */
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
