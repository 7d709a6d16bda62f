/** POST /notices/<token>/confirm: the button of the mailed link's page. */
import { acceptApproverLink } from "#lib/accounts/approver-links";
import { forOwnHosts } from "#lib/http/next-host-check";
import { answerPlainForm } from "#lib/pages/plain-form";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  const page = `/notices/${token}`;
  return answerPlainForm(request, page, async ({ context }, ip) => {
    await acceptApproverLink(context, token, ip);
    return page;
  });
});
