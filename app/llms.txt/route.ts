import { readDocument } from "#components/api-reference/document";
import { writeLlmsText } from "#components/llms-text";
import { forOwnHosts } from "#lib/api/http/next-host-check";
import { answerText } from "#lib/api/http/plain-text";
import { publicBaseUrl } from "#lib/api/http/public-base-url";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  return answerText(writeLlmsText(base, readDocument(base)), "plain");
});
