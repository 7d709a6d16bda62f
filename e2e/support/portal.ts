/** People for the portal's tests: signed in without mail. */

import type { MemberPrincipal, UserPrincipal } from "#lib/api/http/context";
import type { Role } from "#lib/api/schemas/key-choices";
import { memberships, users } from "#lib/db/schema";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import type { AccountsContext } from "#lib/services/accounts/context";
import { ensureMemberships } from "#lib/services/accounts/members";

/** A person of the address; `organizationId`: where they act, by default in the organization that is their own. */
export async function signInPerson(
  context: AccountsContext,
  email: string,
  organizationId?: string,
): Promise<MemberPrincipal> {
  const { db } = context.database;
  const fresh = uuidV7(context.clock().getTime(), context.random(16));
  const [user] = await db
    .insert(users)
    .values({ id: fresh, email })
    .onConflictDoUpdate({ target: users.email, set: { email } })
    .returning();
  const userId = user?.id ?? fresh;
  const signedIn: UserPrincipal = { kind: "user", userId, email, ip: "192.0.2.1", session: "sess_test" };
  if (organizationId !== undefined) return { ...signedIn, organizationId };
  const [own] = await ensureMemberships(context, signedIn);
  return { ...signedIn, organizationId: own?.organizationId ?? "" };
}

/** The same, as somebody who has a role in that organization. */
export async function joinPerson(
  context: AccountsContext,
  email: string,
  organizationId: string,
  role: Role = "member",
): Promise<MemberPrincipal> {
  const person = await signInPerson(context, email, organizationId);
  const row = { organization_id: organizationId, user_id: person.userId, role };
  await context.database.db.insert(memberships).values(row);
  return person;
}
