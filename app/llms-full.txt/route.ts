import { readDocument } from "#components/api-reference/document";
import { findGuide } from "#components/guides/guides";
import { guideEntries } from "#components/guides/guides-index";
import { writeLlmsFullText } from "#components/llms-text";
import { readVerifierSha256 } from "#lib/attestations/program-files";
import { forOwnHosts } from "#lib/http/next-host-check";
import { answerText } from "#lib/http/plain-text";
import { publicBaseUrl } from "#lib/http/public-base-url";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  const sha256 = await readVerifierSha256();
  const guides = guideEntries.map(({ slug }) => findGuide(slug, base, sha256)?.text ?? "");
  return answerText(writeLlmsFullText(base, readDocument(base), guides), "plain");
});
