/** Mail, sent by Resend or SMTP, or kept in the development mailbox. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

export interface Mailer {
  /** Rejects with AppError `service_unavailable` if the mail could not be handed over. */
  send(mail: Mail): Promise<void>;
}
