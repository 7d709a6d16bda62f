/** The mailers that leave this machine. */
import { createTransport } from "nodemailer";
import { Resend } from "resend";
import { AppError } from "#lib/errors";
import { inTime } from "#lib/in-time";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { Mail, Mailer } from "#lib/services/accounts/context";

const outOfReach = (cause: unknown) =>
  new AppError("service_unavailable", "mail cannot be sent right now; try again shortly", { cause });

/** Limit on handing over mail, for which somebody's request waits. */
const usualTimeoutMs = 10_000;

const tooSlow = () => new Error("the mail service did not respond in time");

/** SMTP knows no second attempt, but a mailbox knows a mail that it has (RFC 5322 section 3.6.4). */
function buildMessageId(key: string, from: string): string {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? "countersign";
  return `<${hexEncode(sha256(utf8Encode(key)))}@${domain}>`;
}

/**
 * RFC 5322 section 3.6.4. All mails of a thread refer to one root that nobody gets, because a service that sends them
 * may choose the ids of the mails themselves.
 */
function addThread({ thread, ...mail }: Mail, from: string): Omit<Mail, "thread"> {
  if (thread === undefined) return mail;
  const root = buildMessageId(`thread ${thread.key}`, from);
  const own = { References: root, ...(thread.isReply && { "In-Reply-To": root }) };
  return { ...mail, headers: { ...mail.headers, ...own } };
}

export function createResendMailer(
  apiKey: string,
  from: string,
  baseUrl?: string,
  timeoutMs = usualTimeoutMs,
): Mailer {
  const resend = new Resend(apiKey, baseUrl === undefined ? {} : { baseUrl });
  return {
    send: async (given) => {
      const { idempotencyKey, ...mail } = addThread(given, from);
      const once = idempotencyKey === undefined ? {} : { idempotencyKey };
      const sent = inTime(resend.emails.send({ from, ...mail }, once), timeoutMs, tooSlow);
      const { error } = await sent.catch((cause: unknown) => {
        throw outOfReach(cause);
      });
      // The key is that of a mail that was sent: its words, such as the minutes left, have changed since.
      if (error && error.name !== "invalid_idempotent_request") throw outOfReach(error);
    },
  };
}

/** nodemailer's own limits are minutes. What the query of the URL says comes before what is said here. */
const openTransport = (url: string, timeoutMs: number, defaults?: { from: string }) =>
  createTransport(
    { url, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    defaults,
  );

/** Connects and signs in, and sends nothing. Rejects with the library's error, whose `code` says why. */
export async function trySmtp(url: string): Promise<void> {
  const transport = openTransport(url, usualTimeoutMs);
  await transport.verify().finally(() => transport.close());
}

export function createSmtpMailer(url: string, from: string, timeoutMs = usualTimeoutMs): Mailer {
  const transport = openTransport(url, timeoutMs, { from });
  return {
    send: async (given) => {
      const { idempotencyKey, ...mail } = addThread(given, from);
      const once = idempotencyKey === undefined ? {} : { messageId: buildMessageId(idempotencyKey, from) };
      await transport.sendMail({ ...mail, ...once }).catch((cause: unknown) => {
        throw outOfReach(cause);
      });
    },
  };
}
