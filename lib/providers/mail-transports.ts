/** The mailers that leave this machine. */
import { createTransport } from "nodemailer";
import { Resend } from "resend";
import { AppError } from "#lib/errors";
import type { Mailer } from "./mailer";

const outOfReach = (cause: unknown) =>
  new AppError("service_unavailable", "mail cannot be sent at the moment, try again shortly", { cause });

export function createResendMailer(apiKey: string, from: string, baseUrl?: string): Mailer {
  const resend = new Resend(apiKey, baseUrl === undefined ? {} : { baseUrl });
  return {
    send: async (mail) => {
      const { error } = await resend.emails.send({ from, ...mail }).catch((cause: unknown) => {
        throw outOfReach(cause);
      });
      if (error) throw outOfReach(error);
    },
  };
}

export function createSmtpMailer(url: string, from: string): Mailer {
  const transport = createTransport(url, { from });
  return {
    send: async (mail) => {
      await transport.sendMail(mail).catch((cause: unknown) => {
        throw outOfReach(cause);
      });
    },
  };
}
