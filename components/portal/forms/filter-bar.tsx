/** The filters of a list in one row, in the address: a filtered list can be sent as a link. Works without JavaScript. */
import type { ReactNode } from "react";
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";

interface FilterBarProps {
  /** The list without filters. */
  readonly href: string;
  /** Different filters reset the fields. */
  readonly filters: object;
  readonly isFiltered: boolean;
  readonly children: ReactNode;
  /** Rarely used fields, behind a press; open while one of them is used. */
  readonly more?: ReactNode;
  readonly isMoreUsed?: boolean;
}

export function FilterBar(props: FilterBarProps) {
  const { href, filters, isFiltered, children, more, isMoreUsed = false } = props;
  return (
    <search className="mb-5 block last:mb-0">
      <form
        key={JSON.stringify(filters)}
        action={href}
        method="get"
        className="flex flex-wrap items-end gap-3 [&>div]:min-w-36 [&>div]:flex-1 [&>div]:basis-36"
      >
        {children}
        {more === undefined ? null : (
          <details open={isMoreUsed} className="order-last basis-full">
            <summary className="inline-flex min-h-9 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
              More filters
            </summary>
            <div className="mt-2 grid gap-3 sm:grid-cols-3">{more}</div>
          </details>
        )}
        <Button type="submit" variant="secondary">
          Filter
        </Button>
        {isFiltered ? (
          <ButtonLink href={href} variant="quiet">
            Show all
          </ButtonLink>
        ) : null}
      </form>
    </search>
  );
}
