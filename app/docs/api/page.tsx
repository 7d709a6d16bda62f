import type { Metadata } from "next";
import { connection } from "next/server";
import { ApiReference } from "#components/api-reference/api-reference";
import type { OpenApiDocument } from "#components/api-reference/document";
import { TextLink } from "#components/ui/text-link";
import { buildOpenApi } from "#lib/contract/openapi";
import { publicBaseUrl } from "#lib/door/public-base-url";

export const metadata: Metadata = {
  title: "API reference",
  description: "Every API operation with its fields, limits and errors.",
  alternates: { canonical: "/docs/api" },
};

export default async function ApiReferencePage() {
  // The address is this process's, not the build's.
  await connection();
  const document = buildOpenApi(publicBaseUrl()) as unknown as OpenApiDocument;
  return (
    <article>
      <h1 className="font-semibold text-[2rem] leading-tight">API reference</h1>
      <p className="mt-3 max-w-[60ch] text-lg text-muted">
        Generated from the schemas that validate requests. Also available as{" "}
        <TextLink href="/v1/openapi.json">OpenAPI 3.1</TextLink>. Errors have{" "}
        <TextLink href="/docs/errors">one shape</TextLink>; limits are{" "}
        <TextLink href="/docs/limits">here</TextLink>.
      </p>
      <ApiReference document={document} />
    </article>
  );
}
