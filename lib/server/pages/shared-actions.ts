/** Actions that several pages share. */

import { redirect } from "next/navigation";
import { type FormState, failedState } from "#lib/api/schemas/form-state";
import {
  answerForm,
  authorizationForm,
  revokeForm,
  rotateWebhookForm,
  signInForm,
} from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import {
  answerOwnQuestion,
  cancelOwnAuthorization,
  revokeOwnAuthorization,
} from "#lib/services/approvals/portal-authorizations";
import { rotateOwnWebhook } from "#lib/services/webhooks/deliveries";
import { isForm, limitMails, noForm, readKnownDevice, requireOwnPage, runAction } from "./portal-request";
import { endSession, requestSignInLink, safePortalPath } from "./session";

/** The page is not revalidated: the dialog shows the new secret until it is closed. */
export async function runRotateWebhook(form: FormData): Promise<FormState<{ secret: string }>> {
  return runAction("operate", rotateWebhookForm, form, async ({ context, person }, input) => {
    const hours = Number(input.overlap_hours);
    const { secret, old_keys_until } = await rotateOwnWebhook(context, person, input.webhook_id, hours);
    const message =
      old_keys_until === null
        ? "The old secret has expired."
        : `The old secret signs as well until ${old_keys_until.slice(0, 16).replace("T", " ")} UTC.`;
    return { message, result: { secret } };
  });
}

export async function runCancelAuthorization(form: FormData): Promise<FormState<null>> {
  return runAction("stop", authorizationForm, form, async ({ context, person }, input) => {
    await cancelOwnAuthorization(context, person, input.request_id);
    return { message: "Request cancelled.", result: null };
  });
}

export async function runAnswer(form: FormData): Promise<FormState<null>> {
  return runAction("operate", answerForm, form, async ({ context, person }, input) => {
    await answerOwnQuestion(context, person, input);
    return { message: "Answered. Whoever decides sees it with the request.", result: null };
  });
}

export async function runTakeBack(form: FormData): Promise<FormState<null>> {
  return runAction("stop", revokeForm, form, async ({ context, person }, { request_id, reason }) => {
    await revokeOwnAuthorization(context, person, request_id, reason ?? null);
    return { message: "Taken back. Nothing can use this approval any more.", result: null };
  });
}

export async function runSignOut(): Promise<never> {
  await requireOwnPage();
  await endSession();
  redirect("/portal/sign-in");
}

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
