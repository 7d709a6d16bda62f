import type { Metadata } from "next";
import { PresentationForm } from "#components/presentation/presentation-form";
import { PresentationLimits } from "#components/presentation/presentation-limits";
import { TextLink } from "#components/ui/text-link";

export const metadata: Metadata = {
  title: "Check a presentation",
  description: "Check a zero-knowledge presentation of a private attestation in your own browser.",
};

export default function PresentationPage() {
  return (
    <div className="mx-auto max-w-3xl px-4 py-10 sm:px-6">
      <h1 className="font-semibold text-3xl">Check a presentation</h1>
      <p className="mt-3 max-w-[60ch] text-lg text-muted">
        A presentation proves selected fields of an attestation and keeps the rest hidden. Your browser checks
        it against the{" "}
        <a href="/v1/pubkey" className="text-accent underline decoration-1 underline-offset-[3px]">
          public keys
        </a>{" "}
        of this service. What you paste isn't sent anywhere. Without JavaScript, use the{" "}
        <TextLink href="/docs/verify-offline">offline verifier</TextLink>, which runs the same checks.
      </p>
      <PresentationForm />
      <PresentationLimits />
      <p className="mt-10 text-[15px] text-muted">
        This page's code also comes from the service. If you don't want to trust it, run the{" "}
        <TextLink href="/docs/verify-offline">offline verifier</TextLink> with public keys that you saved
        earlier. How presentations are created:{" "}
        <TextLink href="/docs/zero-knowledge">Zero-knowledge disclosure</TextLink>.
      </p>
    </div>
  );
}
