/** POST /demo/<token>/receipt: the demo agent attests with its approval. */
import { forOwnHosts } from "#lib/api/http/host-check";
import { answerPlainForm } from "#lib/server/pages/plain-form";
import { attestDemo } from "#lib/services/portal/demo";

export const POST = forOwnHosts(async (request: Request, route: { params: Promise<{ token: string }> }) => {
  const { token } = await route.params;
  const page = `/demo/${token}`;
  return answerPlainForm(request, page, async ({ context }, ip) => {
    await attestDemo(context, token, ip);
    return page;
  });
});
