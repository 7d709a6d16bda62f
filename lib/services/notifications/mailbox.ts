/** The development mailbox: mail that would have been sent, kept in the database where people and tests read it. */
import { desc, lte, sql } from "drizzle-orm";
import type { HttpContext } from "#lib/api/http/context";
import type { Handlers } from "#lib/api/http/pipeline";
import type { serviceOperations as specs } from "#lib/api/operations/service";
import type { Database } from "#lib/db/client";
import { mailboxMessages } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import type { Mailer } from "#lib/services/accounts/context";

const maxKept = 1_000;
const maxListed = 200;

/** Selects the newest to delete; null while there are no more than are kept. */
const newestToDelete = sql`(SELECT id FROM ${mailboxMessages} ORDER BY id DESC OFFSET ${maxKept} LIMIT 1)`;

interface MailboxOptions {
  database: Database;
  clock: () => Date;
  random: (length: number) => Uint8Array;
  /** Prints each mail once, for the person at the terminal. */
  print: (line: string) => void;
}

export function createMailboxMailer({ database, clock, random, print }: MailboxOptions): Mailer {
  return {
    send: async (mail) => {
      const now = clock();
      await database.db.insert(mailboxMessages).values({
        id: uuidV7(now.getTime(), random(16)),
        recipient: mail.to,
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
        created_at: now,
      });
      await database.db.delete(mailboxMessages).where(lte(mailboxMessages.id, newestToDelete));
      print(`[mailbox] to ${mail.to}: ${mail.subject}`);
    },
  };
}

export async function listMailbox(database: Database) {
  const rows = await database.db
    .select()
    .from(mailboxMessages)
    .orderBy(desc(mailboxMessages.id))
    .limit(maxListed);
  return rows.map((row) => ({
    id: row.id,
    to: row.recipient,
    subject: row.subject,
    text: row.text,
    html: row.html,
    created_at: row.created_at.toISOString(),
  }));
}

/* The development mailbox, for programs. */

export const mailHandlers: Handlers<Pick<typeof specs, "mailbox">, HttpContext> = {
  mailbox: async ({ context }) => {
    if (context.settings.mail !== "mailbox") throw new AppError("not_found", "this instance sends real mail");
    return { body: { messages: await listMailbox(context.database) }, headers: { vary: "accept" } };
  },
};
