/** Whatever the settings send mail by. */

import type { Env } from "#lib/env";
import { measure } from "#lib/instrumentation";
import type { Mailer } from "#lib/services/accounts/mailer";
import type { Context } from "#lib/services/approvals/context";
import { createMailboxMailer } from "#lib/services/notifications/mailbox";

type Tools = Pick<Context, "database" | "clock" | "random" | "logger">;

/** Modules for some settings are loaded only with them: a start that loads all of them takes longer by a fifth. */
async function chooseMailer(env: Env, { database, clock, random, logger }: Tools): Promise<Mailer> {
  const { RESEND_API_KEY: resendKey, SMTP_URL: smtpUrl, MAIL_FROM: from = "" } = env;
  if (resendKey === undefined && smtpUrl === undefined)
    return createMailboxMailer({ database, clock, random, print: (line) => logger.info(line) });
  const { createResendMailer, createSmtpMailer } = await import("#lib/services/notifications/transports");
  if (resendKey !== undefined) return createResendMailer(resendKey, from, env.RESEND_BASE_URL);
  return createSmtpMailer(String(smtpUrl), from);
}

export async function openMailer(env: Env, tools: Tools): Promise<Mailer> {
  const { send } = await chooseMailer(env, tools);
  return { send: (mail) => measure("mail", "send a mail", () => send(mail)) };
}
