/** 404 for everything that is not there, and for everything that the visitor may not see: one answer for both. */
import type { Metadata } from "next";
import { ButtonLink } from "#components/ui/button-link";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <section className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <h1 className="font-semibold text-3xl">Nothing is known under this address</h1>
      <p className="mt-4 text-lg text-muted">
        The address may be mistyped, cut short by a mail program, or belong to something that was never here.
        An attestation that this instance never made is not proven false by this page, but it is not proven
        either.
      </p>
      <div className="mt-8 flex flex-wrap gap-3">
        <ButtonLink href="/verify">Verify an id, link or file</ButtonLink>
        <ButtonLink href="/" variant="secondary">
          Go to the start
        </ButtonLink>
      </div>
    </section>
  );
}
