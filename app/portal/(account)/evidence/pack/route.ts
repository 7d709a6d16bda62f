/** POST /portal/evidence/pack: an evidence pack as a file, for the form of /portal/evidence. */
import { makeEvidencePack } from "#lib/attestations/pack";
import { shownOrganizationField, switchedOrganization } from "#lib/contract/form-state";
import { evidenceForm } from "#lib/contract/portal-evidence";
import { sentence } from "#lib/core/text/sentence";
import { AppError, describeError } from "#lib/errors";
import { requireSameOrigin } from "#lib/http/same-origin";
import { answerDownload } from "#lib/pages/download";
import { isShown, readPortal } from "#lib/pages/portal-request";

/** The browser shows these words in the place of the page with the form, which going back shows as it was. */
const refuse = (status: number, words: string) => new Response(`${words}\n`, { status });

export async function POST(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null)
    return refuse(401, "Your session has ended. Sign in again, then go back and try again.");
  const { app, context, person } = portal;
  try {
    requireSameOrigin(request, app.env.baseUrl);
    const given = await request.formData().catch(() => null);
    if (given === null) return refuse(400, "The form could not be read.");
    const fields = Object.fromEntries(given);
    if (!isShown(portal, fields[shownOrganizationField])) return refuse(409, switchedOrganization);
    const form = evidenceForm.safeParse(fields);
    if (!form.success) {
      const lines = form.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
      return refuse(422, `Some fields were not accepted. Go back to change them.\n${lines.join("\n")}`);
    }
    const { name, parts } = await makeEvidencePack(context, person, form.data);
    return answerDownload(portal, name, "application/zip", parts);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(describeError(error.errorName).status, `${sentence(error.detail)} Go back to try again.`);
  }
}
