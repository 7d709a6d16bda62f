/** Lets keyboard users skip what is on every page. Visible only while it has the focus. */
interface SkipLinkProps {
  /** The place, "#main". */
  readonly href: string;
  readonly children: string;
}

export function SkipLink({ href, children }: SkipLinkProps) {
  return (
    <a
      href={href}
      className="sr-only focus:not-sr-only focus:fixed focus:top-3 focus:left-3 focus:z-50 focus:rounded-md focus:bg-surface focus:px-4 focus:py-2"
    >
      {children}
    </a>
  );
}
