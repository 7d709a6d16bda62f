import { readDocument } from "#components/api-reference/document";
import { writeLlmsText } from "#components/llms-text";
import { forOwnHosts, publicBaseUrl } from "#lib/api/http/host-check";
import { answerText } from "#lib/api/http/plain-page";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  return answerText(writeLlmsText(base, readDocument(base)), "plain");
});
