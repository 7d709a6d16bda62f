"use client";
/** Shown when even the layout failed. Next's own page for this carries inline styles, which our CSP rightly refuses. */
import "./globals.css";

export default function GlobalError({ error }: { readonly error: Error & { readonly digest?: string } }) {
  return (
    <html lang="en">
      <head>
        <title>Server error · Countersign</title>
      </head>
      <body className="bg-canvas font-sans text-ink">
        <main className="mx-auto max-w-2xl px-4 py-20">
          <h1 className="font-semibold text-3xl">Something went wrong</h1>
          <p className="mt-4 text-lg text-muted">
            This page couldn't be made. If you just sent something, we don't know whether it went through.
            Reload to see. If the problem continues, contact the operator of this instance.
          </p>
          {error.digest ? (
            <p className="mt-4 text-muted text-sm">
              Reference for the operator: <code className="font-mono text-ink">{error.digest}</code>
            </p>
          ) : null}
          <p className="mt-8">
            <a href="/" className="text-accent underline">
              Go to the home page
            </a>
          </p>
        </main>
      </body>
    </html>
  );
}
