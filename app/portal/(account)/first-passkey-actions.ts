"use server";
import { switchedOrganization } from "#lib/api/schemas/form-state";
/** The passkey of the first steps: whoever adds it becomes an approver of the organization that the page shows. */
import { AppError } from "#lib/errors";
import * as passkeys from "#lib/server/pages/passkey-actions";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { becomeApprover } from "#lib/services/accounts/become-approver";
import { requireOwnApprover } from "#lib/services/accounts/passkeys";

const inOrganization =
  (shown: unknown): passkeys.FindActing =>
  async (context) => {
    const portal = await readPortal();
    if (portal === null) throw new AppError("forbidden", "your session has ended; sign in again");
    if (!isShown(portal, shown)) throw new AppError("forbidden", switchedOrganization);
    const { person } = portal;
    return requireOwnApprover(context, person, await becomeApprover(context, person));
  };

export async function begin(organizationId: string) {
  return passkeys.begin(inOrganization(organizationId));
}

export async function finish(organizationId: string, name: string, response: unknown) {
  return passkeys.finish(inOrganization(organizationId), name, response);
}
