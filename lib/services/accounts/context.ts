import type { GuardedAnswer, requestGuarded } from "#lib/jobs/guarded-request";
import type { LogContext } from "#lib/log/context";

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  headers?: Record<string, string>;
  /** Mails of one thread: the same key, and whether others came before. */
  thread?: { key: string; isReply: boolean };
  /** The same for each attempt at one mail, by which Resend and mailboxes know a second one. */
  idempotencyKey?: string;
}

export interface Mailer {
  send(mail: Mail): Promise<void>;
}

/** Asks the outside world about a domain; tests have name servers of their own. */
export interface DomainProbe {
  resolveTxt(name: string): Promise<string[][]>;
  fetchFile(url: string): Promise<GuardedAnswer>;
}

export interface AccountsContext extends LogContext {
  mailer: Mailer;
  domainProbe: DomainProbe;
  /** Sends to browsers' push services. */
  postPush: typeof requestGuarded;
}
