/**
 * GET /v1/verify/:id. Every request has the stored bytes read and digested again, with the log's tiles, the entries beside
 * it in its record and the checkpoint. If they led to a valid answer before, its text is the answer; all else is verified.
 */
import type { Context } from "#lib/approvals/context";
import type { Principal } from "#lib/http/principal";
import type { RememberedAnswer } from "#lib/http/remembered-answers";
import { WrittenJson } from "#lib/http/written-json";
import { versionOf } from "#lib/signing/signing-keys";
import { isWhole, maySee, readUnlessKnown } from "./stored-receipt";
import { describeVerification } from "./verify";

const everyone = "everyone";

/** `client`: as in verifyAttestationById. */
export async function writeVerification(
  context: Context,
  id: string,
  viewer: Principal | null,
  client: string | null,
): Promise<WrittenJson> {
  const { answers, keys } = context;
  const begun = answers.begin();
  const version = versionOf(await keys.published());
  const viewOf = (audience: string) => `${audience} ${version}`;
  const own = viewOf(viewer?.organizationId ?? "strangers");
  const isOfView = ({ view }: RememberedAnswer) => view === viewOf(everyone) || view === own;
  const found = answers.get("verification", id);
  const known = found !== undefined && isOfView(found) ? found : null;
  const { digest, stored } = await readUnlessKnown(context, id, known?.digest ?? null);
  if (stored === null) return WrittenJson.again(known?.text ?? "null");
  const answer = await describeVerification(context, stored, maySee(stored, viewer), client);
  const written = WrittenJson.of(answer);
  const isUnderTheseKeys = versionOf(await keys.published()) === version;
  if (answer.valid && isUnderTheseKeys && isWhole(stored)) {
    const view = stored.is_public ? viewOf(everyone) : own;
    answers.keep(begun, "verification", stored.id, { digest, view, text: written.text });
  }
  return written;
}
