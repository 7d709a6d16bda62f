import type { requestGuarded } from "#lib/jobs/guarded-request";
import type { LogContext } from "#lib/log/context";
import type { DomainProbe } from "./domains";
import type { Mailer } from "./mails";

export interface AccountsContext extends LogContext {
  mailer: Mailer;
  domainProbe: DomainProbe;
  /** Sends to browsers' push services. */
  postPush: typeof requestGuarded;
}
