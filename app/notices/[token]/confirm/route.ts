/** POST /notices/<token>/confirm: the button of the mailed link's page. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { answerPlainForm } from "#lib/server/pages/plain-form";
import { acceptApproverLink } from "#lib/services/accounts/approvers";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  const page = `/notices/${token}`;
  return answerPlainForm(request, page, async ({ context }, ip) => {
    await acceptApproverLink(context, token, ip);
    return page;
  });
});
