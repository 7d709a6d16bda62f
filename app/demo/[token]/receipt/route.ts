/** POST /demo/<token>/receipt: the demo agent attests with its approval. */
import { forOwnHosts } from "#lib/door/next-door";
import { answerPlainForm } from "#lib/pages/plain-form";
import { attestDemo } from "#lib/portal/demo";

export const POST = forOwnHosts((request: Request, route: { params: Promise<{ token: string }> }) =>
  answerPlainForm(request, async ({ context }, ip) => {
    const { token } = await route.params;
    await attestDemo(context, token, ip);
    return `/demo/${token}`;
  }),
);
