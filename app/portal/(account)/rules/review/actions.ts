"use server";
/** Verdicts about uses that nobody was asked about, and how many are put before people. */
import { reviewForm, reviewRatesForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { reviewUse, setReviewRates } from "#lib/services/policies/reviews";

const action = portalActions();
const refreshing = portalActions("/portal/rules/review");

const verdictWords = {
  fine: "Noted: this use is as it should be.",
  should_ask: "Noted: people should have been asked about this use.",
} as const;

export const review = refreshing("stop", reviewForm, async ({ context, person }, input) => {
  await reviewUse(context, person, input.request_id, input.verdict);
  return { message: verdictWords[input.verdict], result: null };
});

export const saveRates = action("rules", reviewRatesForm, async ({ context, person }, rates) => {
  await setReviewRates(context, person, rates);
  return { message: "Saved.", result: null };
});
