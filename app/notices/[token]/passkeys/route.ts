/**
 * POST /notices/<token>/passkeys: what the person whose mail has the link does with their passkeys. No server action: the
 * page has `no-referrer`, so its posts have no origin, which Next refuses.
 */

import { forOwnHosts } from "#lib/api/http/host-check";
import { answerPasskeyCall } from "#lib/server/pages/passkey-actions";
import { requirePasskeyLink } from "#lib/services/accounts/passkeys";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  return answerPasskeyCall(request, (context, ip) => requirePasskeyLink(context, token, ip));
});
