"use server";
import { AppError } from "#lib/errors";
import * as passkeys from "#lib/server/pages/passkey-actions";
import { readUser } from "#lib/server/pages/portal-request";
/** Passkeys of the signed-in person, as an approver of one organization. */
import { requireOwnApprover } from "#lib/services/accounts/passkeys";

const as =
  (approverId: unknown): passkeys.FindActing =>
  async (context) => {
    const user = await readUser();
    if (user === null) throw new AppError("forbidden", "your session has ended; sign in again");
    return requireOwnApprover(context, user, String(approverId));
  };

export async function begin(approverId: string) {
  return passkeys.begin(as(approverId));
}

export async function finish(approverId: string, name: string, response: unknown) {
  return passkeys.finish(as(approverId), name, response);
}

export async function rename(approverId: string, passkeyId: string, name: string) {
  return passkeys.rename(as(approverId), passkeyId, name);
}

export async function remove(approverId: string, passkeyId: string) {
  return passkeys.remove(as(approverId), passkeyId);
}
