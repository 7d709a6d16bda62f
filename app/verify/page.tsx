/** Takes an id or a link by GET, so that it works without JavaScript; files are verified in the browser. */
import type { Metadata } from "next";
import { headers } from "next/headers";
import { redirect } from "next/navigation";
import { VerifyStart } from "#components/verify/verify-start";
import { readAttestation } from "#lib/attestations/stored-receipt";
import { AppError } from "#lib/errors";
import { publicBaseUrl } from "#lib/http/public-base-url";
import { getApp } from "#lib/runtime/app";
import { countPage } from "#lib/runtime/server/page-limits";

export function generateMetadata(): Metadata {
  return {
    title: "Verify an attestation",
    description:
      "Verify an attestation by its id or link, or a receipt, bundle or authorization in your own browser.",
    alternates: { canonical: `${publicBaseUrl()}/verify` },
  };
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** The address of the attestation that the text names; null if there is none here. */
async function findAddress(text: string): Promise<string | null> {
  const id = uuid.exec(text)?.[0].toLowerCase();
  if (id === undefined) return null;
  const { context } = await getApp();
  try {
    await countPage(await headers(), "public_read");
    const { slug } = await readAttestation(context, id);
    return `/verify/${slug}/${id}`;
  } catch (error) {
    if (error instanceof AppError && error.errorName === "attestation_not_found") return null;
    throw error;
  }
}

interface PageProps {
  readonly searchParams: Promise<{ q?: string | string[] }>;
}

export default async function VerifyPage({ searchParams }: PageProps) {
  const { q } = await searchParams;
  const asked = typeof q === "string" && q.trim() !== "" ? q.trim().slice(0, 500) : undefined;
  const address = asked === undefined ? null : await findAddress(asked);
  if (address !== null) redirect(address);
  return <VerifyStart unknown={asked} />;
}
