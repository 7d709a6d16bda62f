"use server";
/** Changing what is registered about an agent, which applies to later attestations only, and stopping it. */
import type { FormState } from "#lib/api/schemas/form-state";
import {
  agentKeyForm,
  agentProfileForm,
  agentSlugForm,
  agentToolsForm,
  freezeAgentForm,
  unfreezeAgentForm,
} from "#lib/api/schemas/portal";
import { portalActions } from "#lib/server/pages/portal-request";
import { runTakeBack } from "#lib/server/pages/shared-actions";
import {
  freezeOwnAgent,
  putOwnTools,
  unfreezeOwnAgent,
  updateOwnAgent,
} from "#lib/services/agents/identities";

const action = portalActions();
const refreshing = portalActions("/portal/agents/[slug]", "page");

type State = FormState<null>;

export const saveProfile = refreshing(
  "operate",
  agentProfileForm,
  async ({ context, person }, { slug, profile }) => {
    await updateOwnAgent(context, person, slug, profile);
    return { message: "Profile saved.", result: null };
  },
);

export const replaceKey = refreshing(
  "operate",
  agentKeyForm,
  async ({ context, person }, { slug, ...key }) => {
    await updateOwnAgent(context, person, slug, key);
    return { message: "Key saved. New attestations are checked against it.", result: null };
  },
);

export const removeKey = action("operate", agentSlugForm, async ({ context, person }, { slug }) => {
  await updateOwnAgent(context, person, slug, { public_key_pem: null });
  return { message: "Key removed.", result: null };
});

export const saveTools = refreshing(
  "operate",
  agentToolsForm,
  async ({ context, person }, { slug, tools }) => {
    const hash = await putOwnTools(context, person, slug, tools);
    return { message: `Manifest saved. Its hash is ${hash}.`, result: null };
  },
);

export const freeze = action("freeze", freezeAgentForm, async ({ context, person }, { slug, reason }) => {
  await freezeOwnAgent(context, person, slug, reason);
  return { message: "Agent frozen.", result: null };
});

export const unfreeze = action(
  "operate",
  unfreezeAgentForm,
  async ({ context, person }, { slug, reason }) => {
    await unfreezeOwnAgent(context, person, slug, reason ?? null);
    return { message: "Unfrozen. The agent may go on.", result: null };
  },
);

export async function takeBack(_state: State, form: FormData): Promise<State> {
  return runTakeBack(form);
}
