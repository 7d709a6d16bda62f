/** The buttons below a list's filters. */
import { Button } from "#components/ui/button";
import { ButtonLink } from "#components/ui/button-link";

interface FilterButtonsProps {
  /** The list without filters. */
  readonly href: string;
  readonly isFiltered: boolean;
}

export function FilterButtons({ href, isFiltered }: FilterButtonsProps) {
  return (
    <div className="col-span-full flex flex-wrap gap-3">
      <Button type="submit" variant="secondary">
        Search
      </Button>
      {isFiltered ? (
        <ButtonLink href={href} variant="quiet">
          Show all
        </ButtonLink>
      ) : null}
    </div>
  );
}
