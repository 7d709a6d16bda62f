"use server";
/** Registering an agent. */
import { redirect } from "next/navigation";
import type { FormState } from "#lib/api/schemas/form-state";
import { registerAgentForm } from "#lib/api/schemas/portal";
import { runAction } from "#lib/server/pages/portal-request";
import { registerOwnAgent } from "#lib/services/agents/identities";

type State = FormState<null>;

export async function registerAgent(_state: State, form: FormData): Promise<State> {
  let slug = "";
  const state = await runAction("operate", registerAgentForm, form, async ({ context, person }, input) => {
    slug = await registerOwnAgent(context, person, input);
    return { message: "", result: null };
  });
  if (state.status === "done") redirect(`/portal/agents/${slug}?registered`);
  return state;
}
