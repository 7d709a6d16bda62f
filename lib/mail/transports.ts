/** The mailers that leave this machine. */
import { createTransport } from "nodemailer";
import { Resend } from "resend";
import { AppError } from "#lib/errors";
import type { Mailer } from "./mailer";

const outOfReach = (cause: unknown) =>
  new AppError("service_unavailable", "mail cannot be sent right now; try again shortly", { cause });

/** Somebody waits for the answer to a request while mail is handed over. */
const timeoutMs = 10_000;

function rejectLater(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error("the mail service did not respond in time")), timeoutMs).unref();
  });
}

export function createResendMailer(apiKey: string, from: string, baseUrl?: string): Mailer {
  const resend = new Resend(apiKey, baseUrl === undefined ? {} : { baseUrl });
  return {
    send: async (mail) => {
      const sent = Promise.race([resend.emails.send({ from, ...mail }), rejectLater()]);
      const { error } = await sent.catch((cause: unknown) => {
        throw outOfReach(cause);
      });
      if (error) throw outOfReach(error);
    },
  };
}

export function createSmtpMailer(url: string, from: string): Mailer {
  const transport = createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from },
  );
  return {
    send: async (mail) => {
      await transport.sendMail(mail).catch((cause: unknown) => {
        throw outOfReach(cause);
      });
    },
  };
}
