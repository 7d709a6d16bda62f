"use server";
/** Registering an agent. */
import { redirect } from "next/navigation";
import { registerOwnAgent } from "#lib/agents/portal-agents";
import type { FormState } from "#lib/contract/form-state";
import { registerAgentForm } from "#lib/contract/portal-agents";
import { runAction } from "#lib/pages/portal-request";

type State = FormState<null>;

export async function registerAgent(_state: State, form: FormData): Promise<State> {
  let slug = "";
  const state = await runAction(registerAgentForm, form, async ({ context, person }, input) => {
    slug = await registerOwnAgent(context, person, input);
    return { message: "Agent registered.", result: null };
  });
  if (state.status === "done") redirect(`/portal/agents/${slug}`);
  return state;
}
