/** A card with an optional heading and footer. */
import type { ReactNode } from "react";

interface CardProps {
  readonly title?: ReactNode;
  /** 2 unless the page's outline says otherwise. */
  readonly headingLevel?: 2 | 3;
  readonly action?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  readonly id?: string;
  readonly "data-part"?: string;
  /** Beside cards that matter more. */
  readonly isQuiet?: boolean;
}

export function Card(props: CardProps) {
  const { title, headingLevel = 2, action, children, className = "", id, isQuiet = false } = props;
  const Heading = headingLevel === 2 ? "h2" : "h3";
  return (
    <section
      id={id}
      data-part={props["data-part"]}
      className={`rounded-lg border border-line ${isQuiet ? "" : "bg-surface shadow-[var(--shadow-card)]"} ${className}`}
    >
      {title ? (
        <div className="flex flex-wrap items-center justify-between gap-3 border-line border-b px-4 py-3 sm:px-5">
          <Heading className={isQuiet ? "font-medium text-[15px] text-muted" : "font-semibold text-[17px]"}>
            {title}
          </Heading>
          {action}
        </div>
      ) : null}
      <div className="px-4 py-4 sm:px-5">{children}</div>
    </section>
  );
}
