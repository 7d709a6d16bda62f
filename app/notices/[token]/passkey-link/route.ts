/** POST /notices/<token>/passkey-link: mails a fresh link to the approver's own address. */

import { forOwnHosts } from "#lib/api/http/host-check";
import { answerPlainForm } from "#lib/server/pages/plain-form";
import { limitMails } from "#lib/server/pages/portal-request";
import { mailPasskeyLink, readPasskeyLink } from "#lib/services/accounts/passkeys";

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
