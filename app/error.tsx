"use client";
/**
 * A page that failed while it was exchanged in place; one that is loaded fails as lib/server/pages/page-failure.ts says. The
 * cause is in the server's log under the digest, never on the page. Every page loads this, so it brings no component
 * along.
 */
const buttonClass =
  "inline-flex min-h-11 items-center rounded-md border border-line-strong bg-surface px-4 font-medium";

interface ErrorPageProps {
  readonly error: Error & { readonly digest?: string };
  readonly retry: () => void;
}

export default function ErrorPage({ error, retry }: ErrorPageProps) {
  return (
    <section className="mx-auto max-w-2xl px-4 py-20 sm:px-6">
      <h1 className="font-semibold text-3xl">Something went wrong</h1>
      <p className="mt-4 text-lg text-muted">
        This page couldn't be made. If you just sent something, we don't know whether it went through. Reload
        to see. If the problem continues, contact the operator of this instance.
      </p>
      {error.digest ? (
        <p className="mt-4 text-muted text-sm">
          Reference for the operator: <code className="font-mono text-ink">{error.digest}</code>
        </p>
      ) : null}
      <div className="mt-8 flex flex-wrap gap-3">
        <button type="button" onClick={retry} className={buttonClass}>
          Reload
        </button>
        <a href="/" className={buttonClass}>
          Go to the home page
        </a>
      </div>
    </section>
  );
}
