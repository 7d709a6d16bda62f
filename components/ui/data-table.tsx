/**
 * A table that stacks on phones: each row becomes a block in which every cell carries its column's name, but empty ones.
 * With `isLine` a row is one line on wide screens, and what names it takes the room that is left.
 */
import type { ReactNode } from "react";
import { PageLink } from "./page-link";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers line up on the right on wide screens. */
  readonly numeric?: boolean;
  /** The header links to the same list in another order. */
  readonly sort?: { readonly isSorted: boolean; readonly href: string };
  /** The cell that names the row. */
  readonly isRowHeader?: boolean;
  /** Opened by the cell, which is text then and no link; null for a row without. */
  readonly more?: (row: Row) => ReactNode;
  /** Cut in a line. */
  readonly isShort?: boolean;
  /** Cut in a line, and left out where there is no room for it: the row's own page has it whole. */
  readonly isCut?: boolean;
  /** Lines after which the text is cut; default: one. */
  readonly maxLines?: "two-lines" | "four-lines";
  /** Set in tables of one-line rows; the cell that names the row takes the rest. */
  readonly width?: keyof typeof widths;
}

const widths = {
  small: "md:w-24",
  medium: "md:w-28",
  large: "md:w-36",
  wide: "md:w-40 xl:w-64",
  huge: "md:w-64",
} as const;

interface DataTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Shown in place of the table when there is no row. */
  readonly empty: ReactNode;
  readonly isLine?: boolean;
  /** Attributes of a row. */
  readonly markRow?: (row: Row) => Readonly<Record<`data-${string}`, string>>;
}

/** Explicit roles: `display: block` on phones would take the table's meaning away from screen readers. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  empty,
  isLine = false,
  markRow,
}: DataTableProps<Row>) {
  if (rows.length === 0) return <>{empty}</>;
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: see above
    <table role="table" className={`w-full text-sm max-md:block ${isLine ? "md:table-fixed" : ""}`}>
      <caption className="sr-only">{caption}</caption>
      <thead role="rowgroup" className="max-md:sr-only">
        <tr role="row" className="border-line border-b text-left text-muted">
          {columns.map((column) => (
            <th
              key={column.id}
              role="columnheader"
              scope="col"
              {...(column.sort?.isSorted ? { "aria-sort": "descending" as const } : {})}
              className={`py-2 pr-4 font-medium ${column.numeric ? "text-right" : ""} ${isLine ? `whitespace-nowrap ${lineClass(column)}` : ""}`}
            >
              {column.sort === undefined ? (
                column.header
              ) : (
                <SortLink {...column.sort} label={column.header} />
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup" className="max-md:block">
        {rows.map((row) => (
          <tr
            key={rowKey(row)}
            role="row"
            {...markRow?.(row)}
            className="border-line border-b last:border-0 max-md:block max-md:py-3"
          >
            {columns.map((column) => (
              <BodyCell key={column.id} column={column} row={row} rowId={rowKey(row)} isLine={isLine} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  );
}

/** A phone's list has no headers to see. */
function SortLink({ isSorted, href, label }: { isSorted: boolean; href: string; label: string }) {
  return (
    <>
      <span className="md:hidden">{label}</span>
      <PageLink href={href} className="underline decoration-dotted underline-offset-4 max-md:hidden">
        {label}
        <span className="sr-only">{isSorted ? ": back to the newest first" : ": the largest first"}</span>
        {isSorted ? <span aria-hidden="true"> ↓</span> : null}
      </PageLink>
    </>
  );
}

interface BodyCellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly rowId: string;
  readonly isLine: boolean;
}

/** Keeps a column in the line. */
function lineClass({ isCut = false, width }: Pick<Column<never>, "isCut" | "width">) {
  return `${width === undefined ? "" : widths[width]} ${isCut ? "md:max-xl:hidden" : ""}`;
}

/** Empty cells of a phone's row say nothing. */
const hiddenIfEmpty = "max-md:[&:has(>span:last-child:empty)]:hidden";

function BodyCell<Row>({ column, row, rowId, isLine }: BodyCellProps<Row>) {
  const more = column.more?.(row) ?? null;
  const isCut = isLine && (column.isRowHeader || column.isCut || column.isShort);
  const cut = isCut ? (column.maxLines ?? "one-line") : "";
  const className = `py-2.5 pr-4 align-top max-md:flex max-md:gap-3 max-md:py-1 max-md:pr-0 ${hiddenIfEmpty} ${
    column.numeric ? "tabular-nums md:whitespace-nowrap md:text-right" : ""
  } ${column.isRowHeader ? "text-left font-medium" : "font-normal"} ${isLine ? lineClass(column) : ""}`;
  const content = (
    <>
      <span aria-hidden="true" className="w-24 shrink-0 font-normal text-muted sm:w-28 md:hidden">
        {column.header}
      </span>
      {more === null ? (
        <span className={`min-w-0 max-md:flex-1 max-md:[overflow-wrap:anywhere] ${cut}`}>
          {column.cell(row)}
        </span>
      ) : (
        <details className="row-more min-w-0 max-md:flex-1 max-md:[overflow-wrap:anywhere]">
          <summary id={`${column.id}-${rowId}`} className={`list-none ${cut}`}>
            {column.cell(row)}
          </summary>
          <div className="mt-2 mb-1 flex flex-col gap-1 font-normal text-muted [overflow-wrap:anywhere] md:max-xl:w-md">
            {more}
          </div>
        </details>
      )}
    </>
  );
  if (column.isRowHeader) {
    // A group, as what opens is, gives its cell no name.
    const name = more === null ? {} : { "aria-labelledby": `${column.id}-${rowId}` };
    return (
      // biome-ignore lint/a11y/noRedundantRoles: display:flex on phones would drop the cell's role
      <th role="rowheader" scope="row" className={className} {...name}>
        {content}
      </th>
    );
  }
  return (
    // biome-ignore lint/a11y/noRedundantRoles: display:flex on phones would drop the cell's role
    <td role="cell" className={className}>
      {content}
    </td>
  );
}
