/** POST /portal/sign-in/verify: the button of the mailed link's page. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { signInLink } from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { completeSignIn } from "#lib/server/pages/session";

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
  const link = { token: text("token"), email: text("email"), next: text("next") };
  if (signInLink.safeParse(link).success) return completeSignIn(request, link);
  const headers = { location: "/portal/sign-in?error=Verification", "cache-control": "no-store" };
  return new Response(null, { status: 303, headers });
}
