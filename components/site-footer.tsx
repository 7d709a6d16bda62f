/** The footer of every page: where the keys, the log and the machine-readable descriptions are. */

const columns = [
  {
    title: "Verify",
    links: [
      { href: "/verify", label: "Verify an attestation" },
      { href: "/docs/verify-offline", label: "Verify offline" },
      { href: "/v1/pubkey", label: "Public keys" },
      { href: "/log/checkpoint", label: "Log checkpoint" },
    ],
  },
  {
    title: "Build",
    links: [
      { href: "/docs/quick-start", label: "Quick start" },
      { href: "/docs/errors", label: "Errors" },
      { href: "/v1/openapi.json", label: "OpenAPI document" },
      { href: "/llms.txt", label: "llms.txt" },
    ],
  },
  {
    title: "Know the limits",
    links: [
      { href: "/docs/security", label: "What this doesn't prove" },
      { href: "/docs/limits", label: "Limits" },
      { href: "/docs/changelog", label: "Changelog" },
    ],
  },
] as const;

export function SiteFooter() {
  return (
    <footer className="no-print mt-24 border-line border-t">
      <div className="mx-auto grid max-w-7xl gap-8 px-4 py-10 text-sm sm:grid-cols-3 sm:px-6">
        {columns.map((column) => (
          <nav key={column.title} aria-label={column.title}>
            <p className="font-medium">{column.title}</p>
            <ul className="mt-2">
              {column.links.map((link) => (
                <li key={link.href}>
                  <a
                    href={link.href}
                    className="inline-flex min-h-8 items-center text-muted hover:text-ink hover:underline"
                  >
                    {link.label}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        ))}
      </div>
    </footer>
  );
}
