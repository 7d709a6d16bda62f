/** POST /portal/sign-in/verify: the button of the mailed link's page. */
import { isSameOrigin } from "#lib/http/portal-request";
import { publicBaseUrl } from "#lib/http/public-base-url";
import { completeSignIn } from "#lib/http/session";

export async function POST(request: Request): Promise<Response> {
  if (!isSameOrigin(request.headers, publicBaseUrl()))
    return new Response("This form must be sent from its own page.\n", { status: 403 });
  const form = await request.formData();
  const text = (name: string) => String(form.get(name) ?? "");
  return completeSignIn(request, { token: text("token"), email: text("email"), next: text("next") });
}
