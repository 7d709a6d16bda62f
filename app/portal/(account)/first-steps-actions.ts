"use server";
import type { FormState } from "#lib/api/schemas/form-state";
import { organizationNameForm, stepForm } from "#lib/api/schemas/portal";
import { type Portal, revalidate, runAction } from "#lib/server/pages/portal-request";
import { nameOrganization } from "#lib/services/portal/organization";
import { askForFirstApproval, sendFirstAttestation } from "#lib/services/portal/overview";

async function runStep(
  form: FormData,
  step: (context: Portal["context"], person: Portal["person"]) => Promise<void>,
  message: string,
): Promise<FormState<null>> {
  return runAction("operate", stepForm, form, async ({ context, person }) => {
    await step(context, person);
    return { message, result: null };
  }).then(revalidate("/portal"));
}

export async function sendAttestation(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runStep(form, sendFirstAttestation, "Attestation created.");
}

export async function askForApproval(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runStep(form, askForFirstApproval, "Approval requested.");
}

export async function saveName(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("settings", organizationNameForm, form, async ({ context, person }, input) => {
    const { name, default_public: visibility } = input;
    await nameOrganization(context, person, { name, defaultPublic: visibility === "public" });
    return { message: `Saved. New attestations are ${visibility}.`, result: null };
  }).then(revalidate("/portal", "layout"));
}
