"use server";
/** Adding a suggested rule, or asking for it as a standing approval. */
import { suggestionForm } from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { askForStanding } from "#lib/services/approvals/portal-authorizations";
import { proposeSuggestion } from "#lib/services/policies/suggestions";

const action = portalActions();

export const propose = action("rules", suggestionForm, async ({ context, person }, { policy_id, money }) => {
  const counts = await proposeSuggestion(context, person, {
    policyId: policy_id,
    withMoney: money === "on",
  });
  return {
    message: counts ? "Rule added." : "Rule proposed. Another owner must confirm it.",
    result: null,
  };
});

export const ask = action("rules", suggestionForm, async ({ context, person }, { policy_id, money }) => {
  const link = await askForStanding(context, person, { policyId: policy_id, withMoney: money === "on" });
  return {
    message:
      link === null
        ? "Denied at once, by your rules or because the agent is frozen."
        : `Approval requested. A group that has to approve finds it in its inbox; else send this link to who should decide: ${link}`,
    result: null,
  };
});
