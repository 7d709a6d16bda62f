/** The Markdown twin of a guide or of the list of operations, reached as /docs/<slug>.md (next.config.ts, rewrites). */

import { readDocument } from "#components/api-reference/document";
import { writeOperationList } from "#components/api-reference/operation-markdown";
import { findGuide } from "#components/guides/guides";
import { forOwnHosts, publicBaseUrl } from "#lib/api/http/host-check";
import { answerText } from "#lib/api/http/plain-page";
import { describePrograms } from "#lib/services/attestations/receipt-files";

export const GET = forOwnHosts(async (_request: Request, route: { params: Promise<{ slug: string }> }) => {
  const { slug } = await route.params;
  const base = publicBaseUrl();
  if (slug === "api") return answerText(writeOperationList(readDocument(base), base), "markdown");
  return answerText(findGuide(slug, base, await describePrograms())?.text ?? null, "markdown");
});
