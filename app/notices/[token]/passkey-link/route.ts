/** POST /notices/<token>/passkey-link: mails a fresh link to the approver's own address. */
import { mailPasskeyLink, readPasskeyLink } from "#lib/accounts/passkey-access";
import { forOwnHosts } from "#lib/http/next-host-check";
import { answerPlainForm } from "#lib/pages/plain-form";
import { limitMails } from "#lib/pages/portal-request";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  const page = `/notices/${token}`;
  return answerPlainForm(request, page, async ({ context }) => {
    const link = await readPasskeyLink(context, token);
    await limitMails(link?.approver.email ?? token);
    await mailPasskeyLink(context, token);
    return `${page}?mailed`;
  });
});
