/** Back to the first page, and on, by cursor. There are no page numbers, because entries arrive while you read. */
import { ButtonLink } from "./button-link";

interface CursorPaginationProps {
  /** Name of the paged items: "attestations". */
  readonly label: string;
  /** Absent on the first page. */
  readonly firstHref?: string;
  /** Absent at the end. */
  readonly nextHref?: string;
  /** True for any order but newest first. */
  readonly isByAmount?: boolean;
}

export function CursorPagination({ label, firstHref, nextHref, isByAmount = false }: CursorPaginationProps) {
  if (!firstHref && !nextHref) return null;
  return (
    <nav aria-label={`Pages of ${label}`} className="no-print mt-4 flex flex-wrap gap-3">
      {firstHref ? (
        <ButtonLink href={firstHref} variant="secondary" size="small">
          {isByAmount ? "First" : "Newest"} {label}
        </ButtonLink>
      ) : null}
      {nextHref ? (
        <ButtonLink href={nextHref} variant="secondary" size="small" rel="next">
          {isByAmount ? "More" : "Older"} {label}
        </ButtonLink>
      ) : null}
    </nav>
  );
}
