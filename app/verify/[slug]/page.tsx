/** /verify/<agent> and /verify/<id>: people shorten the address of a receipt. */
import { redirect } from "next/navigation";
import { isUuid } from "#lib/protocol/encoding/bytes";

interface PageProps {
  readonly params: Promise<{ slug: string }>;
}

export default async function ShortAddressPage({ params }: PageProps) {
  const { slug } = await params;
  // The receipt's page leads to its whole address.
  redirect(isUuid(slug) ? `/verify/attestation/${slug}` : `/agent/${slug}`);
}
