/** POST /demo/<token>/receipt: the demo agent attests with its approval. */
import { forOwnHosts } from "#lib/door/next-door";
import { answerDemoForm } from "#lib/pages/demo-form";
import { attestDemo } from "#lib/portal/demo";

export const POST = forOwnHosts((request: Request, route: { params: Promise<{ token: string }> }) =>
  answerDemoForm(request, async ({ context }, ip) => {
    const { token } = await route.params;
    await attestDemo(context, token, ip);
    return `/demo/${token}`;
  }),
);
