/** POST /portal/attestations/<id>/opened: the receipt with details of its approval opened, as a file for an auditor. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import { plainPage } from "#lib/api/http/plain-page";
import { toResponse } from "#lib/api/http/problem";
import { shownOrganizationField, switchedOrganization } from "#lib/api/schemas/form-state";
import { openingForm } from "#lib/api/schemas/portal";
import { AppError, describeError } from "#lib/errors";
import { sentence } from "#lib/protocol/text/display-text";
import { answerDownload } from "#lib/server/pages/feed-answer";
import { isShown, readPortal } from "#lib/server/pages/portal-request";
import { openOwnAttestation } from "#lib/services/attestations/own";

interface RouteContext {
  readonly params: Promise<{ id: string }>;
}

async function* writeJson(value: unknown) {
  yield `${JSON.stringify(value, null, 2)}\n`;
}

export async function POST(request: Request, { params }: RouteContext): Promise<Response> {
  const { id } = await params;
  const refuse = (status: number, text: string) => {
    const back = {
      back: `/portal/attestations/${encodeURIComponent(id)}`,
      backLabel: "Back to the attestation",
    };
    return toResponse(plainPage({ status, title: "Nothing was opened", text, ...back }));
  };
  const portal = await readPortal();
  if (portal === null) return refuse(401, "Your session has ended. Sign in again.");
  const { app, context, person } = portal;
  try {
    requireSameOrigin(request, app.env.baseUrl);
    const fields = Object.fromEntries((await request.formData().catch(() => null)) ?? []);
    if (!isShown(portal, fields[shownOrganizationField])) return refuse(409, switchedOrganization);
    const form = openingForm.safeParse(fields);
    if (!form.success) return refuse(422, "Choose what to open.");
    const opened = await openOwnAttestation(context, person, id, form.data.opening);
    return answerDownload(portal, `receipt-${id}-opened.json`, "application/json", writeJson(opened));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(describeError(error.errorName).status, sentence(error.detail));
  }
}
