import { readDocument } from "#components/api-reference/document";
import { findGuide } from "#components/guides/guides";
import { guideEntries } from "#components/guides/guides-index";
import { writeLlmsFullText } from "#components/llms-text";
import { forOwnHosts, publicBaseUrl } from "#lib/api/http/host-check";
import { answerText } from "#lib/api/http/plain-page";
import { describePrograms } from "#lib/services/attestations/receipt-files";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  const programs = await describePrograms();
  const guides = guideEntries.map(({ slug }) => findGuide(slug, base, programs)?.text ?? "");
  return answerText(writeLlmsFullText(base, readDocument(base), guides), "plain");
});
