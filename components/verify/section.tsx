/** A titled part of a public page; folded, it is one line until a reader opens it. */
import type { ReactNode } from "react";

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly lead?: ReactNode;
  /** Printed open. */
  readonly fold?: "closed" | "open";
  readonly children: ReactNode;
}

function Lead({ lead }: Pick<SectionProps, "lead">) {
  return lead ? <p className="mt-1.5 max-w-[68ch] text-[15px] text-muted">{lead}</p> : null;
}

export function Section({ id, title, lead, fold, children }: SectionProps) {
  const heading = (
    <h2 id={id} className={`font-semibold text-xl sm:text-2xl ${fold === undefined ? "" : "inline"}`}>
      {title}
    </h2>
  );
  if (fold === undefined)
    return (
      <section aria-labelledby={id} className="mt-10 sm:mt-12">
        {heading}
        <Lead lead={lead} />
        <div className="mt-5">{children}</div>
      </section>
    );
  return (
    <section aria-labelledby={id} className="mt-6 border-line border-t pt-4">
      <details className="folded" open={fold === "open"}>
        <summary className="min-h-11 cursor-pointer py-1.5 marker:text-muted">{heading}</summary>
        <Lead lead={lead} />
        <div className="mt-5">{children}</div>
      </details>
    </section>
  );
}
