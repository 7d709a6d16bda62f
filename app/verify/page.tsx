/** Takes an id or a link by GET, so that it works without JavaScript; files are verified in the browser. */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { redirect } from "next/navigation";
import { VerifyStart } from "#components/verify/verify-start";
import { publicBaseUrl } from "#lib/api/http/host-check";
import { readPublicly } from "#lib/api/http/response-cache";
import type { SearchResponse } from "#lib/api/schemas/identity";
import { AppError } from "#lib/errors";
import { parseSearched } from "#lib/protocol/text/mixed-script";
import { countPage } from "#lib/server/next/page-limits";
import { getApp } from "#lib/server/singleton";
import type { Context } from "#lib/services/approvals/context";
import { searchPublicly } from "#lib/services/attestations/list";
import { readAttestation } from "#lib/services/attestations/stored-receipt";

export function generateMetadata(): Metadata {
  return {
    title: "Verify an attestation",
    description:
      "Verify an attestation by its id or link, or a receipt, bundle, authorization or evidence pack in your own browser.",
    alternates: { canonical: `${publicBaseUrl()}/verify` },
  };
}

/** The page of the attestation with this id, private ones too; null if there is none here. */
async function findPage(context: Context, id: string): Promise<string | null> {
  try {
    const { slug } = await readAttestation(context, id);
    return `/verify/${slug}/${id}`;
  } catch (error) {
    if (error instanceof AppError && error.errorName === "attestation_not_found") return null;
    throw error;
  }
}

type Found = { address: string } | { searched: { text: string; found: SearchResponse } };

async function search(text: string): Promise<Found> {
  const { context } = await getApp();
  await countPage(await headers(), "public_read");
  const named = parseSearched(text);
  const page = named?.kind === "attestation_id" ? await findPage(context, named.id) : null;
  if (page !== null) return { address: page };
  const found = await readPublicly(context, (from) => searchPublicly(from, text));
  const [only] = found.results;
  return only !== undefined && found.results.length === 1
    ? { address: new URL(only.public_url).pathname }
    : { searched: { text, found } };
}

interface PageProps {
  readonly searchParams: Promise<{ q?: string | string[] }>;
}

export default async function VerifyPage({ searchParams }: PageProps) {
  const { q } = await searchParams;
  const asked = typeof q === "string" && q.trim() !== "" ? q.trim().slice(0, 500) : undefined;
  const found = asked === undefined ? null : await search(asked);
  if (found !== null && "address" in found) redirect(found.address);
  return <VerifyStart searched={found?.searched ?? null} />;
}
