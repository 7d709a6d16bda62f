/**
 * Answers verification requests, in the API and on the attestation's page. Every request has the stored bytes read and
 * digested again, with the log's tiles, the entries beside it in its record and the checkpoint. If they led to a valid
 * answer before, its text is the answer; all else is verified.
 */

import type { Principal } from "#lib/api/http/principal";
import type { RememberedAnswer } from "#lib/api/http/remembered-answers";
import { WrittenJson } from "#lib/api/http/written-json";
import type { VerifyResponse } from "#lib/api/schemas/verify";
import { versionOf } from "#lib/log/signing/signing-keys";
import type { Context } from "#lib/services/approvals/context";
import { isWhole, maySee, readUnlessKnown, type StoredAttestation } from "./stored-receipt";
import { describeVerification } from "./verify";

const everyone = "everyone";

interface Asked {
  id: string;
  viewer: Principal | null;
  /** As in describeVerification. */
  client: string | null;
}

/** The text of what `describe` makes, at once or as a promise, of the verification, the stored bytes and the published keys, and of nothing else. */
export async function rememberVerification(
  context: Context,
  kind: "verification" | "page",
  { id, viewer, client }: Asked,
  describe: (answer: VerifyResponse, stored: StoredAttestation) => unknown,
): Promise<WrittenJson> {
  const { answers, keys } = context;
  const begun = answers.begin();
  const version = versionOf(await keys.published());
  const viewOf = (audience: string) => `${audience} ${version}`;
  const own = viewOf(viewer?.organizationId ?? "strangers");
  const isOfView = ({ view }: RememberedAnswer) => view === viewOf(everyone) || view === own;
  const found = answers.get(kind, id);
  const known = found !== undefined && isOfView(found) ? found : null;
  const { digest, stored } = await readUnlessKnown(context, id, known?.digest ?? null);
  if (stored === null) return WrittenJson.again(known?.text ?? "null");
  const answer = await describeVerification(context, stored, maySee(stored, viewer), client);
  const written = WrittenJson.of(await describe(answer, stored));
  const isUnderTheseKeys = versionOf(await keys.published()) === version;
  if (answer.valid && isUnderTheseKeys && isWhole(stored)) {
    const view = stored.is_public ? viewOf(everyone) : own;
    answers.keep(begun, kind, stored.id, { digest, view, text: written.text });
  }
  return written;
}

/** GET /v1/verify/:id. */
export const writeVerification = (
  context: Context,
  id: string,
  viewer: Principal | null,
  client: string | null,
): Promise<WrittenJson> =>
  rememberVerification(context, "verification", { id, viewer, client }, (answer) => answer);
