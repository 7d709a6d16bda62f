/** A mail to each owner of an organization, about what the service did by itself. */
import { and, eq } from "drizzle-orm";
import { memberships, users } from "#lib/db/schema";
import type { Mail } from "#lib/mail/mailer";
import type { AccountsContext } from "./context";

export async function mailOwners(
  { database, mailer }: AccountsContext,
  organizationId: string,
  write: (to: string) => Mail,
): Promise<void> {
  const owners = await database.db
    .select({ email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(and(eq(memberships.organization_id, organizationId), eq(memberships.role, "owner")));
  for (const { email } of owners) await mailer.send(write(email));
}
