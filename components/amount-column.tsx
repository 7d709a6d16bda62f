/** Amounts in lists: a column of their own, bold, on the right; absent if no row of the page has one. */
import type { Column } from "#components/ui/data-table";
import { Money } from "#components/ui/money";
import { TextLink } from "#components/ui/text-link";
import { type Amount, compareAmounts } from "#lib/protocol/approval/amount";

interface WithAmount {
  readonly amount: Amount | null;
}

/** Sorting of a list by amount: whether it is on, and the address of the other order. */
export interface AmountSort {
  readonly isSorted: boolean;
  readonly href: string;
}

/** Sorting in the browser, which has the whole list. */
interface SortHere {
  readonly isSorted: boolean;
  readonly onSort: (isSorted: boolean) => void;
}

/** Rows with an amount, the largest of each currency first. */
export const sortByAmount = <Row extends WithAmount>(rows: readonly Row[]): readonly Row[] =>
  rows
    .filter(({ amount }) => amount !== null)
    .toSorted((one, other) => compareAmounts(one.amount, other.amount));

/** Above a list that is sorted as a whole. `usual`: its other order. */
export function AmountOrder({
  usual = "Newest first",
  ...sort
}: (AmountSort | SortHere) & { readonly usual?: string }) {
  const choose = (label: string, isChosen: boolean) =>
    isChosen ? (
      <strong>{label}</strong>
    ) : "href" in sort ? (
      <TextLink href={sort.href}>{label}</TextLink>
    ) : (
      <button type="button" className="text-accent underline" onClick={() => sort.onSort(!sort.isSorted)}>
        {label}
      </button>
    );
  return (
    <p className="no-print mb-3 flex flex-wrap gap-x-4 text-sm">
      {choose(usual, !sort.isSorted)}
      {choose("By amount", sort.isSorted)}
      {sort.isSorted ? (
        <span className="text-muted">Only those with an amount, the largest of each currency first.</span>
      ) : null}
    </p>
  );
}

export const amountColumns = <Row extends WithAmount>(
  rows: readonly Row[],
  sort?: AmountSort,
): Column<Row>[] =>
  rows.every(({ amount }) => amount === null)
    ? []
    : [
        {
          id: "amount",
          header: "Amount",
          numeric: true,
          width: "large",
          ...(sort === undefined ? {} : { sort }),
          cell: ({ amount }) =>
            amount === null ? null : (
              <b className="font-semibold">
                <Money {...amount} />
              </b>
            ),
        },
      ];
