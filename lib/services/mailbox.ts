/** The development mailbox: mail that would have been sent, kept in the database where people and tests read it. */
import { desc } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { mailboxMessages } from "#lib/db/schema";
import { uuidV7 } from "#lib/domain/ids";
import type { Mailer } from "#lib/providers/mailer";

interface MailboxOptions {
  database: Database;
  clock: () => Date;
  random: (length: number) => Uint8Array;
  /** Each mail is printed once, for the person at the terminal. */
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
      print(`[mailbox] to ${mail.to}: ${mail.subject}`);
    },
  };
}

export async function listMailbox(database: Database) {
  const rows = await database.db.select().from(mailboxMessages).orderBy(desc(mailboxMessages.id)).limit(200);
  return rows.map((row) => ({
    id: row.id,
    to: row.recipient,
    subject: row.subject,
    text: row.text,
    html: row.html,
    created_at: row.created_at.toISOString(),
  }));
}
