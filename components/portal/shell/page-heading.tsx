/** The heading of a portal page: its name, what it is for, and the main action. */
import type { ReactNode } from "react";

interface PageHeadingProps {
  readonly title: ReactNode;
  readonly lead?: ReactNode;
  readonly action?: ReactNode;
}

export function PageHeading({ title, lead, action }: PageHeadingProps) {
  return (
    <div className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="font-semibold text-2xl [overflow-wrap:anywhere] sm:text-[28px]">{title}</h1>
        {lead ? <p className="mt-1 max-w-[62ch] text-muted">{lead}</p> : null}
      </div>
      {action}
    </div>
  );
}
