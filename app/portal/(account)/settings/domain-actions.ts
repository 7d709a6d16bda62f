"use server";
/** Adding, checking and removing a domain of the organization. */
import { revalidatePath } from "next/cache";
import { toActor } from "#lib/api/http/context";
import type { FormState } from "#lib/api/schemas/form-state";
import { domainForm, domainIdForm } from "#lib/api/schemas/portal";
import { AppError } from "#lib/errors";
import { portalActions, runAction } from "#lib/server/pages/portal-request";
import * as domains from "#lib/services/accounts/domains";
import { admitWaiting } from "#lib/services/directory/directory";

const action = portalActions();

type State = FormState<null>;

const path = "/portal/settings";
const refreshing = portalActions(path);

export const addDomain = refreshing("settings", domainForm, async ({ context, person }, { domain }) => {
  await domains.addDomain(context, person, domain);
  return { message: "Domain added. Publish its token, then check it.", result: null };
});

/** A check that found nothing is no success, though it was made. */
export async function checkDomain(_state: State, form: FormData): Promise<State> {
  const state = await runAction(
    "settings",
    domainIdForm,
    form,
    async ({ context, person }, { domain_id }) => {
      const { problem } = await domains.checkDomain(context, person, domain_id);
      if (problem !== null) throw new AppError("validation_error", `The token was not found: ${problem}.`);
      const { organizationId } = person;
      await admitWaiting(context, { organizationId, actor: toActor(person) });
      return { message: "The domain is verified.", result: null };
    },
  );
  revalidatePath(path);
  return state;
}

export const removeDomain = action("settings", domainIdForm, async ({ context, person }, { domain_id }) => {
  await domains.removeDomain(context, person, domain_id);
  return { message: "Domain removed.", result: null };
});
