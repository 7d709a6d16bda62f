/** POST /notices/<token>/confirm: the button of the mailed link's page. */
import { acceptApproverLink } from "#lib/accounts/approver-links";
import { forOwnHosts } from "#lib/door/next-door";
import { answerPlainForm } from "#lib/pages/plain-form";

export const POST = forOwnHosts((request: Request, route: { params: Promise<{ token: string }> }) =>
  answerPlainForm(request, async ({ context }, ip) => {
    const { token } = await route.params;
    await acceptApproverLink(context, token, ip);
    return `/notices/${token}`;
  }),
);
