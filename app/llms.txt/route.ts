import { readDocument } from "#components/api-reference/document";
import { writeLlmsText } from "#components/llms-text";
import { forOwnHosts } from "#lib/door/next-door";
import { answerText } from "#lib/door/plain-text";
import { publicBaseUrl } from "#lib/door/public-base-url";

export const dynamic = "force-dynamic";

export const GET = forOwnHosts(async () => {
  const base = publicBaseUrl();
  return answerText(writeLlmsText(base, readDocument(base)), "plain");
});
