/** Mail, sent by Resend or SMTP, or kept in the development mailbox. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Besides the usual ones. */
  headers?: Record<string, string>;
  /** Mails of one thread: the same key, and whether others came before. */
  thread?: { key: string; isReply: boolean };
  /** The same for each attempt at one mail, by which Resend and mailboxes know a second one. */
  idempotencyKey?: string;
}

export interface Mailer {
  /** Rejects with AppError `service_unavailable` if the mail could not be handed over. */
  send(mail: Mail): Promise<void>;
}
