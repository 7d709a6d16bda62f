/** A mail to each owner of an organization, about what the service did by itself. One that is refused ends nothing else. */
import { and, eq } from "drizzle-orm";
import { memberships, users } from "#lib/db/schema";
import type { AccountsContext } from "./context";
import type { Mail } from "./mailer";

/** Whoever changes the same thing again and again would use up the mails of all organizations. */
const perHour = 60;

export async function mailOwners(
  { database, mailer, logger, limiter }: AccountsContext,
  organizationId: string,
  about: "domains" | "roster" | "rules" | "webhooks",
  write: (to: string) => Mail,
): Promise<{ sent: number; failed: number }> {
  const owners = await database.db
    .select({ email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(and(eq(memberships.organization_id, organizationId), eq(memberships.role, "owner")));
  const policy = { name: `owner_mails_${about}`, limit: perHour, windowSeconds: 3600 };
  if (!(await limiter.consume(policy, organizationId)).allowed) {
    logger.warn({ organization: organizationId, about }, "owners get no more mails of a kind in this hour");
    return { sent: 0, failed: owners.length };
  }
  const results = await Promise.allSettled(owners.map(async ({ email }) => mailer.send(write(email))));
  const failures = results.filter((result) => result.status === "rejected");
  for (const { reason } of failures) logger.warn({ err: reason }, "a mail to an owner could not be sent");
  return { sent: results.length - failures.length, failed: failures.length };
}
