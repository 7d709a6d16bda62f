/** Amounts in lists: a column of their own, bold, on the right; absent if no row of the page has one. */
import type { Column } from "#components/ui/data-table";
import { Money } from "#components/ui/money";
import { TextLink } from "#components/ui/text-link";
import { type Amount, compareAmounts } from "#lib/protocol/approval/amount";

interface WithAmount {
  readonly amount: Amount | null;
}

/** In a list that can be sorted by amount: whether it is, and the address of the other order. */
export interface AmountSort {
  readonly isSorted: boolean;
  readonly href: string;
}

/** A whole list, in the order that was asked for. */
export const inOrder = <Row extends WithAmount>(rows: readonly Row[], sort: AmountSort): readonly Row[] =>
  sort.isSorted ? rows.toSorted((one, other) => compareAmounts(one.amount, other.amount)) : rows;

/** Above a list that the server sorts as a whole. */
export function AmountOrder({ isSorted, href }: AmountSort) {
  return (
    <p className="mb-3 flex flex-wrap gap-x-4 text-sm">
      {isSorted ? <TextLink href={href}>Newest first</TextLink> : <strong>Newest first</strong>}
      {isSorted ? <strong>By amount</strong> : <TextLink href={href}>By amount</TextLink>}
      {isSorted ? (
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
            amount === null ? (
              <span className="text-muted">–</span>
            ) : (
              <b className="font-semibold">
                <Money {...amount} />
              </b>
            ),
        },
      ];
