"use server";
/** Making a presentation of one attestation, and erasing its content. */
import type { FormState } from "#lib/api/schemas/form-state";
import { attestationForm, presentationForm } from "#lib/api/schemas/portal";
import { runAction } from "#lib/server/pages/portal-request";
import { eraseContent as eraseOwn } from "#lib/services/attestations/erase";
import { presentOwnAttestation } from "#lib/services/attestations/own";

type State = FormState<{ json: string }>;

export async function makePresentation(_state: State, form: FormData): Promise<State> {
  return runAction(
    "operate",
    presentationForm,
    form,
    async ({ context, person }, { attestation_id, ...wanted }) => {
      const presentation = await presentOwnAttestation(context, person, attestation_id, wanted);
      return {
        message: `Presentation created. Send it to ${wanted.audience}.`,
        result: { json: JSON.stringify(presentation, null, 2) },
      };
    },
  );
}

export async function eraseContent(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runAction("erase", attestationForm, form, async ({ context, person }, { attestation_id }) => {
    await eraseOwn(context, person, attestation_id);
    return { message: "Content erased. The log entry stays.", result: null };
  });
}
