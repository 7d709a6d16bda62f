/** An id that this instance never issued. */
import type { Metadata } from "next";
import { VerdictHeader } from "#components/verify/verdict-header";
import { VerifyOrHome } from "#components/verify-or-home";

export const metadata: Metadata = { title: "Unknown attestation" };

export default function UnknownAttestation() {
  return (
    <div className="mx-auto max-w-3xl px-4 py-12 sm:px-6 sm:py-20">
      <VerdictHeader
        verdict={{
          kind: "unknown",
          title: "Unknown",
          record: "This instance has no attestation with this id, so the link proves nothing.",
          warnings: [],
          notes: ["The link may be cut off or mistyped, or belong to another instance. Check the host name."],
        }}
      />
      <VerifyOrHome />
    </div>
  );
}
