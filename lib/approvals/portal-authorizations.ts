/** An organization's own authorization requests, with the link by which a human decides those that still wait. */

import { requireRole } from "#lib/accounts/members";
import type { AuthorizationState } from "#lib/contract/authorize";
import { isOwnerOf, type MemberPrincipal } from "#lib/door/principal";
import type { Context } from "./context";
import { cancelAuthorization } from "./decide";
import { approvalUrl } from "./link";
import { type AuthorizationQuery, listAuthorizations, readAuthorization } from "./read";
import { authorizationNotFound, findAuthorization } from "./rows";

function withLink(context: Context, state: AuthorizationState) {
  return {
    ...state,
    approval_url: state.status === "pending" ? approvalUrl(context, state.request_id) : null,
  };
}

export async function listOwnAuthorizations(
  context: Context,
  person: MemberPrincipal,
  query: AuthorizationQuery,
) {
  await requireRole(context.database.db, person, "member");
  const { authorizations, next_cursor } = await listAuthorizations(context, person, query);
  return { rows: authorizations.map((state) => withLink(context, state)), nextCursor: next_cursor };
}

export async function readOwnAuthorization(context: Context, person: MemberPrincipal, requestId: string) {
  await requireRole(context.database.db, person, "member");
  const row = await findAuthorization(context.database, requestId);
  if (row === null || !isOwnerOf(person, row)) throw authorizationNotFound();
  return withLink(context, await readAuthorization(context, requestId, person));
}

export async function cancelOwnAuthorization(
  context: Context,
  person: MemberPrincipal,
  requestId: string,
): Promise<void> {
  await requireRole(context.database.db, person, "member");
  await cancelAuthorization(context, requestId, person);
}
