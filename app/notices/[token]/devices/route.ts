/** POST /notices/<token>/devices: devices that are notified, changed by the holder of a fresh link, or of the one that made the first passkey a moment ago. */
import { forOwnHosts } from "#lib/api/http/host-check";
import { answerDeviceCall } from "#lib/server/pages/passkey-actions";
import { requirePasskeyLink } from "#lib/services/accounts/passkeys";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  return answerDeviceCall(request, (context, ip) => requirePasskeyLink(context, token, ip, "mayNotify"));
});
