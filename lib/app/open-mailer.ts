/** Whatever the settings send mail by. */
import type { Context } from "#lib/approvals/context";
import type { Env } from "#lib/env";
import { createMailboxMailer } from "#lib/mail/mailbox";
import type { Mailer } from "#lib/mail/mailer";
import { createResendMailer, createSmtpMailer } from "#lib/mail/transports";
import { measure } from "#lib/steps";

type Tools = Pick<Context, "database" | "clock" | "random" | "logger">;

function chooseMailer(env: Env, { database, clock, random, logger }: Tools): Mailer {
  const from = env.MAIL_FROM ?? "";
  if (env.RESEND_API_KEY !== undefined)
    return createResendMailer(env.RESEND_API_KEY, from, env.RESEND_BASE_URL);
  if (env.SMTP_URL !== undefined) return createSmtpMailer(env.SMTP_URL, from);
  return createMailboxMailer({ database, clock, random, print: (line) => logger.info(line) });
}

export function openMailer(env: Env, tools: Tools): Mailer {
  const { send } = chooseMailer(env, tools);
  return { send: (mail) => measure("mail", "send a mail", () => send(mail)) };
}
