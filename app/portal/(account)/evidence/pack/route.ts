/** POST /portal/evidence/pack: an evidence pack as a file, for the form of /portal/evidence. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import { plainPage } from "#lib/api/http/plain-page";
import { toResponse } from "#lib/api/http/problem";
import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { evidenceForm } from "#lib/api/schemas/portal";
import { AppError, describeError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import { answerDownload } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { makeEvidencePack } from "#lib/services/packs/pack";

const labels: Record<string, string> = { agent: "Agent", from: "From", until: "Until" };

/** Answers in place of the page with the form and links back to it, with what was `asked`. */
function refuse(status: number, text: string, asked = new FormData()): Response {
  const kept = new URLSearchParams();
  for (const name of Object.keys(labels)) kept.set(name, String(asked.get(name) ?? ""));
  kept.set("private", asked.has("agent") && !asked.has("private") ? "off" : "on");
  return toResponse(
    plainPage({
      status,
      title: "No evidence pack was made",
      text,
      back: `/portal/evidence?${kept}`,
      backLabel: "Back to the form",
    }),
  );
}

export async function POST(request: Request): Promise<Response> {
  const portal = await readPortal();
  if (portal === null) return refuse(401, "Your session has ended. Sign in again.");
  const { app, context, person } = portal;
  let given: FormData | undefined;
  try {
    requireSameOrigin(request, app.env.baseUrl);
    given = await request.formData().catch(() => undefined);
    if (given === undefined) return refuse(400, "The form could not be read.");
    const fields = Object.fromEntries(given);
    if (!isShown(portal, fields[shownOrganizationField])) return refuse(409, switchedOrganization, given);
    const form = evidenceForm.safeParse(fields);
    if (!form.success) {
      const faults = form.error.issues.map(
        ({ path, message }) => `${labels[path.join(".")] ?? "The form"} ${message}.`,
      );
      return refuse(422, faults.join(" "), given);
    }
    const { name, parts } = await makeEvidencePack(context, person, form.data);
    return answerDownload(portal, name, "application/zip", parts);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(describeError(error.errorName).status, sentence(error.detail), given);
  }
}
