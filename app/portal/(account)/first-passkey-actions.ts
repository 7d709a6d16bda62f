"use server";
import type { MemberPrincipal } from "#lib/api/http/context";
import { switchedOrganization } from "#lib/api/schemas/form-state";
/** Passkeys for the organization that the page shows: the first one, which makes an approver, and one as a second factor. */
import { AppError } from "#lib/errors";
import * as passkeys from "#lib/server/pages/passkey-actions";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { becomeApprover } from "#lib/services/accounts/approver-groups";
import { requireOwnApprover } from "#lib/services/accounts/passkeys";

async function requireShown(shown: unknown): Promise<MemberPrincipal> {
  const portal = await readPortal();
  if (portal === null) throw new AppError("forbidden", "your session has ended; sign in again");
  if (!isShown(portal, shown)) throw new AppError("forbidden", switchedOrganization);
  return portal.person;
}

const asNewApprover =
  (shown: unknown): passkeys.FindActing =>
  async (context) => {
    const person = await requireShown(shown);
    return requireOwnApprover(context, person, await becomeApprover(context, person));
  };

export async function begin(organizationId: string) {
  return passkeys.begin(asNewApprover(organizationId));
}

export async function finish(organizationId: string, name: string, response: unknown) {
  return passkeys.finish(asNewApprover(organizationId), name, response);
}

export async function beginConfirming(organizationId: string) {
  return passkeys.beginConfirming(() => requireShown(organizationId));
}

export async function confirm(organizationId: string, response: unknown) {
  return passkeys.confirm(() => requireShown(organizationId), response);
}
