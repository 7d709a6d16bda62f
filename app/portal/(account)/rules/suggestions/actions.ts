"use server";
/** Adding a suggested rule. */
import type { FormState } from "#lib/api/schemas/form-state";
import { suggestionForm } from "#lib/api/schemas/portal";
import { runAction } from "#lib/server/pages/portal-request";
import { proposeSuggestion } from "#lib/services/policies/suggestions";

export async function propose(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("rules", suggestionForm, form, async ({ context, person }, { policy_id, money }) => {
    const counts = await proposeSuggestion(context, person, {
      policyId: policy_id,
      withMoney: money === "on",
    });
    return {
      message: counts ? "Rule added." : "Rule proposed. Another owner must confirm it.",
      result: null,
    };
  });
}
