/** The mails of the portal: sign-in links, invitations, and what the service did by itself. */
import { escapeHtml } from "#lib/domain/escape-html";
import type { Mail } from "#lib/mail/mailer";

/** Paragraphs around one link. A paragraph that is an address of ours becomes a link too. */
export function linkMail(
  to: string,
  subject: string,
  parts: { lead: string; link: string; foot: readonly string[] },
): Mail {
  const paragraphs = [parts.lead, parts.link, ...parts.foot];
  const { origin } = new URL(parts.link);
  const toHtml = (text: string) =>
    text.startsWith(`${origin}/`) && !/\s/.test(text)
      ? `<p><a href="${escapeHtml(text)}">${escapeHtml(text)}</a></p>`
      : `<p>${escapeHtml(text)}</p>`;
  return {
    to,
    subject,
    text: `${paragraphs.join("\n\n")}\n`,
    html: paragraphs.map(toHtml).join(""),
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
