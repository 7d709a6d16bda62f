/** People for the portal's tests: signed in without mail. */
import type { AccountsContext } from "#lib/accounts/context";

import { ensureMemberships, type Person } from "#lib/accounts/members";
import { users } from "#lib/db/schema";
import { uuidV7 } from "#lib/domain/ids";

/** A person of the address; `organizationId`: where they act, by default in the organization that is their own. */
export async function signInPerson(
  context: AccountsContext,
  email: string,
  organizationId?: string,
): Promise<Person> {
  const { db } = context.database;
  const fresh = uuidV7(context.clock().getTime(), context.random(16));
  const [user] = await db
    .insert(users)
    .values({ id: fresh, email })
    .onConflictDoUpdate({ target: users.email, set: { email } })
    .returning();
  const userId = user?.id ?? fresh;
  const actor = { kind: "user", id: email, ip: "192.0.2.1", session: "sess_test" } as const;
  const visitor = { userId, email, actor };
  if (organizationId !== undefined) return { ...visitor, organizationId };
  const [own] = await ensureMemberships(context, visitor);
  return { ...visitor, organizationId: own?.organizationId ?? "" };
}
