/** An id that this instance never gave out. */
import type { Metadata } from "next";
import { ButtonLink } from "#components/ui/button-link";
import { VerdictHeader } from "#components/verify/verdict-header";

export const metadata: Metadata = { title: "Unknown attestation" };

export default function UnknownAttestation() {
  return (
    <div className="mx-auto max-w-3xl px-4 py-12 sm:px-6 sm:py-20">
      <VerdictHeader
        verdict={{
          kind: "unknown",
          title: "Unknown",
          sentence:
            "This instance has no attestation with this id. Whoever gave you the link cannot prove anything with it.",
          warnings: [],
          notes: [
            "The address may have been cut short or mistyped. It may also belong to another instance: look at the host name.",
          ],
        }}
      />
      <div className="mt-8 flex flex-wrap gap-3">
        <ButtonLink href="/verify">Verify an id, link or file</ButtonLink>
        <ButtonLink href="/" variant="secondary">
          Go to the start
        </ButtonLink>
      </div>
    </div>
  );
}
