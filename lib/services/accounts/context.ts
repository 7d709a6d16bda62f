import type { LogContext } from "#lib/log/context";
import type { DomainProbe } from "./domain-proof";
import type { Mailer } from "./mailer";

export interface AccountsContext extends LogContext {
  mailer: Mailer;
  domainProbe: DomainProbe;
}
