/** POST /portal/inbox/devices/<approver>: devices of the signed-in person that are notified for one organization. */
import { forOwnHosts } from "#lib/api/http/host-check";
import { AppError } from "#lib/errors";
import { answerDeviceCall } from "#lib/server/pages/passkey-actions";
import { readUser } from "#lib/server/pages/portal-request";
import { requireOwnApprover } from "#lib/services/accounts/passkeys";

export const POST = forOwnHosts(
  async (request: Request, route: { params: Promise<{ approver: string }> }) => {
    const { approver } = await route.params;
    return answerDeviceCall(request, async (context) => {
      const user = await readUser();
      if (user === null) throw new AppError("forbidden", "your session has ended; sign in again");
      return requireOwnApprover(context, user, approver);
    });
  },
);
