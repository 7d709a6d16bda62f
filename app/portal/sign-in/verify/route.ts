/** POST /portal/sign-in/verify: the button of the mailed link's page. */

import { publicBaseUrl } from "#lib/door/public-base-url";
import { requireSameOrigin } from "#lib/door/same-origin";
import { AppError } from "#lib/errors";
import { completeSignIn } from "#lib/pages/session";

export async function POST(request: Request): Promise<Response> {
  try {
    requireSameOrigin(request, publicBaseUrl());
  } catch (error) {
    if (error instanceof AppError) return new Response(`${error.detail}\n`, { status: 403 });
    throw error;
  }
  const form = await request.formData().catch(() => null);
  if (form === null) return new Response("the form is not well-formed\n", { status: 400 });
  const text = (name: string) => String(form.get(name) ?? "");
  return completeSignIn(request, { token: text("token"), email: text("email"), next: text("next") });
}
