import type { Metadata } from "next";
import { connection } from "next/server";
import { ApiFrame } from "#components/api-reference/api-frame";
import { CopyMarkdown } from "#components/api-reference/copy-markdown";
import { readDocument } from "#components/api-reference/document";
import { groupEntries } from "#components/api-reference/entries";
import { OperationIndex } from "#components/api-reference/operation-index";
import { TextLink } from "#components/ui/text-link";
import { publicBaseUrl } from "#lib/api/http/host-check";

export const metadata: Metadata = {
  title: "API reference",
  description: "Every API operation with its fields, limits and errors.",
  alternates: { canonical: "/docs/api", types: { "text/markdown": "/docs/api.md" } },
};

export default async function ApiReferencePage() {
  // The address is this process's, not the build's.
  await connection();
  const document = readDocument(publicBaseUrl());
  return (
    <ApiFrame>
      <h1 className="font-semibold text-[2rem] leading-tight">API reference</h1>
      <p className="mt-3 max-w-[60ch] text-lg text-muted">
        Generated from the schemas that validate requests. Also available as{" "}
        <TextLink href="/v1/openapi.json">OpenAPI 3.1</TextLink>. Send your API key as{" "}
        <code className="font-mono text-base">Authorization: Bearer cs_…</code>. Errors have{" "}
        <TextLink href="/docs/errors">one shape</TextLink>; limits are{" "}
        <TextLink href="/docs/limits">here</TextLink>.
      </p>
      <p className="no-print mt-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
        <CopyMarkdown href="/docs/api.md" />
        <TextLink href="/llms-full.txt">All guides and operations in one text</TextLink>
      </p>
      <OperationIndex groups={groupEntries(document)} />
    </ApiFrame>
  );
}
