"use server";
/** Changing the organization's rules, and deciding about a change that waits. */
import { revalidatePath } from "next/cache";
import { type FormState, readForm } from "#lib/api/schemas/form-state";
import { proposalForm, type RulesFormResult, rulesForm } from "#lib/api/schemas/portal";
import { portalActions, runAction } from "#lib/server/pages/portal-request";
import { runCancelAuthorization, runTakeBack } from "#lib/server/pages/shared-actions";
import {
  findOwnProblems,
  findOwnWarnings,
  saveOwnRules,
  simulateOwnRules,
} from "#lib/services/policies/read";
import { confirmProposal, dropProposal } from "#lib/services/policies/versions";

const action = portalActions();

type State = FormState<RulesFormResult>;

const path = "/portal/rules";

export async function changeRules(_state: State, form: FormData): Promise<State> {
  const state = await runAction(
    "rules",
    rulesForm,
    form,
    async (
      { context, person },
      input,
    ): Promise<{
      message: string;
      result: RulesFormResult;
    }> => {
      const { text, mode, fallback, version } = input;
      const problems = await findOwnProblems(context, person, text);
      if (problems.length > 0) return { message: "", result: { kind: "problems", problems } };
      if (input.intent === "compare") {
        const simulation = await simulateOwnRules(context, person, { text, fallback });
        return { message: "Compared. Nothing was saved.", result: { kind: "compared", simulation } };
      }
      const change = { text, mode, fallback, version, require_second_owner: input.second_owner === "on" };
      const counts = await saveOwnRules(context, person, change);
      const message = counts ? "Rules saved." : "Change proposed. Another owner must confirm it.";
      const warnings = await findOwnWarnings(context, person, text);
      return { message, result: { kind: "saved", warnings } };
    },
  );
  if (state.result?.kind === "saved") revalidatePath(path);
  // Unsaved input stays in the form, beside its problems.
  else if (state.status === "done") return { ...state, values: readForm(form) };
  return state;
}

export const confirmChange = action("rules", proposalForm, async ({ context, person }, input) => {
  await confirmProposal(context, person, input.proposal_id);
  return { message: "Confirmed. The change is in effect.", result: null };
});

export const dropChange = action("rules", proposalForm, async ({ context, person }, input) => {
  await dropProposal(context, person, input.proposal_id);
  return { message: "Change dropped. The rules stay as they are.", result: null };
});

export async function cancelRequest(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runCancelAuthorization(form);
}

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runTakeBack(form);
}
