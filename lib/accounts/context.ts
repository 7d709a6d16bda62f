/** What accounts add to the context. */
import type { LogContext } from "#lib/log/context";
import type { Mailer } from "#lib/mail/mailer";
import type { DomainProbe } from "./domain-proof";

export interface AccountsContext extends LogContext {
  mailer: Mailer;
  domainProbe: DomainProbe;
}
