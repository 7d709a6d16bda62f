/** A titled part of a public page. */
import type { ReactNode } from "react";

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ id, title, lead, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className="mt-12 sm:mt-16">
      <h2 id={id} className="font-semibold text-xl sm:text-2xl">
        {title}
      </h2>
      {lead ? <p className="mt-1.5 max-w-[68ch] text-[15px] text-muted">{lead}</p> : null}
      <div className="mt-5">{children}</div>
    </section>
  );
}
