/** The mails of the portal: sign-in links, invitations, and webhooks that were disabled. */
import type { Mail } from "#lib/mail/mailer";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

function linkMail(to: string, subject: string, lead: string, link: string, foot: string): Mail {
  return {
    to,
    subject,
    text: `${lead}\n\n${link}\n\n${foot}\n`,
    html: `<p>${escapeHtml(lead)}</p><p><a href="${escapeHtml(link)}">${escapeHtml(link)}</a></p><p>${escapeHtml(foot)}</p>`,
  };
}

export function signInMail(to: string, link: string, lifetimeMinutes: number): Mail {
  return linkMail(
    to,
    "Your sign-in link for Countersign",
    `Open this link and press the button to sign in. It works once and expires in ${lifetimeMinutes} minutes.`,
    link,
    "If you didn't request it, ignore this e-mail. Nothing happens until you press the button.",
  );
}

/** Without the organization's name: it is free text of the sender's, and this mail goes out in our name. */
export function invitationMail(
  to: string,
  link: string,
  { invitedBy, lifetimeDays }: { invitedBy: string; lifetimeDays: number },
): Mail {
  return linkMail(
    to,
    "An invitation to an organization on Countersign",
    `${invitedBy} invited you to join their organization on Countersign. The link works once and expires in ${lifetimeDays} days.`,
    link,
    "If you don't know the sender, ignore this e-mail. Nothing happens until you accept.",
  );
}

/** Without the receiver's address, which is free text too: the link shows it. */
export function webhookDisabledMail(to: string, link: string, why: string): Mail {
  return linkMail(
    to,
    "A webhook endpoint on Countersign was disabled",
    `One of your organization's webhook endpoints was disabled because ${why}. Nothing more is sent to it until you enable it again:`,
    link,
    "Messages that were not delivered are listed there for 30 days, and can be sent again.",
  );
}
