"use server";
/** Taking a standing approval back. */
import type { FormState } from "#lib/api/schemas/form-state";
import { runTakeBack } from "#lib/server/pages/shared-actions";

export async function takeBack(_state: FormState<null>, form: FormData): Promise<FormState<null>> {
  return runTakeBack(form);
}
