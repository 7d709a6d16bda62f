import type { LogContext } from "#lib/log/context";
import type { DomainProbe } from "./domains";
import type { Mailer } from "./mails";

export interface AccountsContext extends LogContext {
  mailer: Mailer;
  domainProbe: DomainProbe;
}
