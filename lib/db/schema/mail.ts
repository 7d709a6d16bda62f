/** The development mailbox. */
import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { createdAt } from "./columns";

export const mailboxMessages = pgTable(
  "mailbox_messages",
  {
    id: uuid().primaryKey(),
    recipient: text().notNull(),
    subject: text().notNull(),
    text: text().notNull(),
    html: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index().on(t.created_at)],
);
