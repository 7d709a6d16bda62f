/** For tests only: the mails to approvers, sent when they are due. */
import { expect } from "vitest";
import { createNotices } from "#lib/services/notifications/send";
import type { TestApp } from "./app";

const slowly = { timeout: 60_000 };

/** Waits until everything due was sent or dropped, by whichever round. */
export async function sendAll({ app }: TestApp): Promise<void> {
  const { database } = app.context;
  const isOpen = `SELECT FROM notices WHERE status = 'pending' AND (next_attempt_at <= clock_timestamp()
    OR attempts > 0 AND next_attempt_at < clock_timestamp() + interval '61 seconds')`;
  await expect
    .poll(async () => {
      await createNotices(app.context).run();
      return (await database.query(isOpen, [])).rows.length;
    }, slowly)
    .toBe(0);
}

/** Waits until a request's notices are these, each as `kind status`. */
export async function expectNotices({ app }: TestApp, requestId: string, ...wanted: string[]): Promise<void> {
  const ofRequest = "SELECT kind, status FROM notices WHERE request_id = $1 ORDER BY kind";
  await expect
    .poll(async () => {
      await createNotices(app.context).run();
      const { rows } = await app.context.database.query(ofRequest, [requestId]);
      return rows.map((row) => `${row["kind"]} ${row["status"]}`);
    }, slowly)
    .toEqual(wanted);
}

/** Makes the reminder due now. */
export async function makeReminderDue({ app }: TestApp, requestId: string): Promise<void> {
  await app.context.database.query(
    "UPDATE notices SET next_attempt_at = clock_timestamp() WHERE kind = 'reminder' AND request_id = $1",
    [requestId],
  );
}
