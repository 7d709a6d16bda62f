/**
 * Asking for a sign-in link, from the sign-in form and from an invitation. The answer does not tell whether the
 * address is known.
 */
import { type FormState, failedState } from "#lib/api/schemas/form-state";
import { signInForm } from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import { isForm, limitMails, noForm, readKnownDevice, requireOwnPage } from "./portal-request";
import { requestSignInLink, safePortalPath } from "./session";

export async function runSignInRequest(form: FormData): Promise<FormState<null>> {
  if (!isForm(form)) return noForm();
  const values = { email: String(form.get("email") ?? "") };
  const parsed = signInForm.safeParse(Object.fromEntries(form));
  if (!parsed.success) return failedState("", { email: "this is not an email address" }, values);
  const { email, next } = parsed.data;
  try {
    await requireOwnPage();
    await limitMails(email, await readKnownDevice(email));
    await requestSignInLink(email, safePortalPath(next));
  } catch (error) {
    if (error instanceof AppError) return failedState(sentence(error.detail), {}, values);
    throw error;
  }
  const message = `If ${email} can receive mail, a link is on its way. It works once and expires in 30 minutes.`;
  return { status: "done", message, errors: {}, values, result: null };
}
