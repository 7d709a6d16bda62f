"use server";
/** Verdicts about uses that nobody was asked about, and how many are put before people. */
import type { FormState } from "#lib/api/schemas/form-state";
import { reviewForm, reviewRatesForm } from "#lib/api/schemas/portal";
import { revalidate, runAction } from "#lib/server/pages/portal-request";
import { reviewUse, setReviewRates } from "#lib/services/policies/reviews";

type State = FormState<null>;

const verdictWords = {
  fine: "Noted: this use is as it should be.",
  should_ask: "Noted: people should have been asked about this use.",
} as const;

export async function review(_state: State, form: FormData): Promise<State> {
  return runAction("stop", reviewForm, form, async ({ context, person }, input) => {
    await reviewUse(context, person, input.request_id, input.verdict);
    return { message: verdictWords[input.verdict], result: null };
  }).then(revalidate("/portal/rules/review"));
}

export async function saveRates(_state: State, form: FormData): Promise<State> {
  return runAction("rules", reviewRatesForm, form, async ({ context, person }, rates) => {
    await setReviewRates(context, person, rates);
    return { message: "Saved.", result: null };
  });
}
