/** Page for everything that is not there and everything that the visitor may not see: one answer for both. */
import { VerifyOrHome } from "#components/verify-or-home";

export function NotFoundPage() {
  return (
    <section className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <h1 className="font-semibold text-3xl">Page not found</h1>
      <p className="mt-4 text-lg text-muted">
        The link may be mistyped, cut off by a mail program, or belong to another instance. If someone gave it
        to you as evidence, it proves nothing.
      </p>
      <VerifyOrHome />
    </section>
  );
}
