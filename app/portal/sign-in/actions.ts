"use server";
/** Asking for a sign-in link. The answer does not tell whether the address is known. */
import { type FormState, failedState, signInForm } from "#lib/contract/portal";
import { AppError } from "#lib/errors";
import { safePortalPath } from "#lib/http/portal-path";
import { currentAddress, requireOwnPage } from "#lib/http/portal-request";
import { requestSignInLink } from "#lib/http/session";

export async function requestLink(
  _state: FormState<{ email: string }>,
  form: FormData,
): Promise<FormState<{ email: string }>> {
  const values = { email: String(form.get("email") ?? "") };
  const parsed = signInForm.safeParse(Object.fromEntries(form));
  if (!parsed.success) {
    return failedState("", { email: "this is not an e-mail address" }, values);
  }
  const { email, next } = parsed.data;
  try {
    await requireOwnPage();
    await requestSignInLink(email, safePortalPath(next), await currentAddress());
  } catch (error) {
    if (error instanceof AppError) return failedState(error.detail, {}, values);
    throw error;
  }
  return {
    status: "done",
    message: `If ${email} can receive mail, a link is on its way. It works once, for 30 minutes.`,
    errors: {},
    values,
    result: { email },
  };
}
