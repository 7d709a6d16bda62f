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
import { revalidate, runAction } from "#lib/server/pages/portal-request";
import { runTakeBack } from "#lib/server/pages/shared-actions";
import {
  freezeOwnAgent,
  putOwnTools,
  unfreezeOwnAgent,
  updateOwnAgent,
} from "#lib/services/agents/identities";

type State = FormState<null>;

const refresh = revalidate("/portal/agents/[slug]", "page");

export async function saveProfile(_state: State, form: FormData): Promise<State> {
  return runAction("operate", agentProfileForm, form, async ({ context, person }, { slug, profile }) => {
    await updateOwnAgent(context, person, slug, profile);
    return { message: "Profile saved.", result: null };
  }).then(refresh);
}

export async function replaceKey(_state: State, form: FormData): Promise<State> {
  return runAction("operate", agentKeyForm, form, async ({ context, person }, { slug, ...key }) => {
    await updateOwnAgent(context, person, slug, key);
    return { message: "Key saved. New attestations are checked against it.", result: null };
  }).then(refresh);
}

export async function removeKey(_state: State, form: FormData): Promise<State> {
  return runAction("operate", agentSlugForm, form, async ({ context, person }, { slug }) => {
    await updateOwnAgent(context, person, slug, { public_key_pem: null });
    return { message: "Key removed.", result: null };
  });
}

export async function saveTools(_state: State, form: FormData): Promise<State> {
  return runAction("operate", agentToolsForm, form, async ({ context, person }, { slug, tools }) => {
    const hash = await putOwnTools(context, person, slug, tools);
    return { message: `Manifest saved. Its hash is ${hash}.`, result: null };
  }).then(refresh);
}

export async function freeze(_state: State, form: FormData): Promise<State> {
  return runAction("freeze", freezeAgentForm, form, async ({ context, person }, { slug, reason }) => {
    await freezeOwnAgent(context, person, slug, reason);
    return { message: "Agent frozen.", result: null };
  });
}

export async function unfreeze(_state: State, form: FormData): Promise<State> {
  return runAction("operate", unfreezeAgentForm, form, async ({ context, person }, { slug, reason }) => {
    await unfreezeOwnAgent(context, person, slug, reason ?? null);
    return { message: "Unfrozen. The agent may go on.", result: null };
  });
}

export async function takeBack(_state: State, form: FormData): Promise<State> {
  return runTakeBack(form);
}
