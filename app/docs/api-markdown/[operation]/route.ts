/** The Markdown twin of an operation's page, reached as /docs/api/<slug>.md (next.config.ts, rewrites). */
import { readDocument } from "#components/api-reference/document";
import { findEntry } from "#components/api-reference/entries";
import { writeOperation } from "#components/api-reference/operation-markdown";
import { forOwnHosts, publicBaseUrl } from "#lib/api/http/host-check";
import { answerText } from "#lib/api/http/plain-page";

export const GET = forOwnHosts(
  async (_request: Request, route: { params: Promise<{ operation: string }> }) => {
    const document = readDocument(publicBaseUrl());
    const entry = findEntry(document, (await route.params).operation);
    return answerText(entry === null ? null : writeOperation(entry, document), "markdown");
  },
);
