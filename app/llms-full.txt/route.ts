import { readDocument } from "#components/api-reference/document";
import { findGuide } from "#components/guides/guides";
import { guideEntries } from "#components/guides/guides-index";
import { writeLlmsFullText } from "#components/llms-text";
import { describePrograms } from "#lib/attestations/program-files";
import { forOwnHosts } from "#lib/http/next-host-check";
import { answerText } from "#lib/http/plain-text";
import { publicBaseUrl } from "#lib/http/public-base-url";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  const programs = await describePrograms();
  const guides = guideEntries.map(({ slug }) => findGuide(slug, base, programs)?.text ?? "");
  return answerText(writeLlmsFullText(base, readDocument(base), guides), "plain");
});
