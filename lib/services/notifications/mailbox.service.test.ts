/** The development mailbox forgets the oldest mails: whoever asks for codes cannot fill the disk. */
import { describe, expect, it } from "vitest";
import { setupTestApp } from "#support/setup-app";
import { createMailboxMailer, listMailbox } from "./mailbox";

describe("the development mailbox", () => {
  const { test } = setupTestApp();

  it("keeps the newest thousand mails, and lists the newest of them", async () => {
    const { database } = test.app.context;
    await database.query(
      `INSERT INTO mailbox_messages (id, recipient, subject, text, html, created_at)
        SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'old@example.com', 'Old ' || n, '', '', now()
        FROM generate_series(1, 1005) AS n`,
      [],
    );
    const printed: string[] = [];
    const mailer = createMailboxMailer({
      database,
      clock: () => new Date("2026-11-22T00:00:00Z"),
      random: (length) => new Uint8Array(length),
      print: (line) => printed.push(line),
    });
    await mailer.send({ to: "new@example.com", subject: "New", text: "text", html: "html" });
    const { rows } = await database.query(
      "SELECT count(*)::int AS count, min(id::text) AS first FROM mailbox_messages",
      [],
    );
    expect(rows[0]).toEqual({ count: 1000, first: "00000000-0000-7000-8000-000000000007" });
    const listed = await listMailbox(database);
    expect(listed.length).toBe(200);
    expect(listed[0]).toMatchObject({ to: "new@example.com", subject: "New" });
    expect(printed).toEqual(["[mailbox] to new@example.com: New"]);
  });
});
