/** Actions that several pages of authorization requests share. */

import type { FormState } from "#lib/api/schemas/form-state";
import { answerForm, authorizationForm, revokeForm } from "#lib/api/schemas/portal";
import {
  answerOwnQuestion,
  cancelOwnAuthorization,
  revokeOwnAuthorization,
} from "#lib/services/approvals/portal-authorizations";
import { runAction } from "./portal-request";

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
