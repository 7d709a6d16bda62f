/** Amounts in lists: a column of their own, bold, on the right; absent if no row of the page has one. */
import type { Column } from "#components/ui/data-table";
import { Money } from "#components/ui/money";
import type { Amount } from "#lib/protocol/approval/amount";

interface WithAmount {
  readonly amount: Amount | null;
}

export const amountColumns = <Row extends WithAmount>(rows: readonly Row[]): Column<Row>[] =>
  rows.every(({ amount }) => amount === null)
    ? []
    : [
        {
          id: "amount",
          header: "Amount",
          numeric: true,
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
