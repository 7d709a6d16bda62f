import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { connection } from "next/server";
import { ApiFrame } from "#components/api-reference/api-frame";
import { readDocument } from "#components/api-reference/document";
import { findEntry } from "#components/api-reference/entries";
import { OperationPage } from "#components/api-reference/operation-page";
import { NotFoundPage } from "#components/not-found-page";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { withNotFound } from "#lib/server/pages/with-not-found";

interface PageProps {
  readonly params: Promise<{ operation: string }>;
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  const entry = findEntry(readDocument(publicBaseUrl()), (await params).operation);
  if (entry === null) return { title: "Not found" };
  const { slug, method, path, operation } = entry;
  return {
    title: operation.summary,
    description: `${method.toUpperCase()} ${path}: fields, responses and examples in curl, TypeScript and Python.`,
    alternates: { canonical: `/docs/api/${slug}`, types: { "text/markdown": `/docs/api/${slug}.md` } },
  };
}

async function OperationReferencePage({ params }: PageProps) {
  // The address is this process's, not the build's.
  await connection();
  const document = readDocument(publicBaseUrl());
  const entry = findEntry(document, (await params).operation);
  if (entry === null) notFound();
  return (
    <ApiFrame>
      <OperationPage entry={entry} document={document} />
    </ApiFrame>
  );
}

export default withNotFound(OperationReferencePage, NotFoundPage);
