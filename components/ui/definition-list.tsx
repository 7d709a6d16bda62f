/** Names and values. On phones each name is above its value. */
import type { ReactNode } from "react";

export interface Definition {
  readonly id: string;
  readonly name: ReactNode;
  readonly value: ReactNode;
  /** Amounts and recipients on the approval page. */
  readonly prominent?: boolean;
}

interface DefinitionListProps {
  readonly items: readonly Definition[];
  /** Attributes for the row with this id. */
  readonly mark?: (id: string) => Readonly<Record<`data-${string}`, string>>;
}

export function DefinitionList({ items, mark }: DefinitionListProps) {
  return (
    <dl className="divide-y divide-line">
      {items.map((item) => (
        <div
          key={item.id}
          className="keep-together grid gap-x-6 gap-y-0.5 py-2.5 sm:grid-cols-[11rem_1fr]"
          {...mark?.(item.id)}
        >
          <dt className="text-muted text-sm sm:pt-0.5">{item.name}</dt>
          <dd className={`min-w-0 ${item.prominent ? "font-semibold text-xl" : "text-[15px]"}`}>
            {item.value}
          </dd>
        </div>
      ))}
    </dl>
  );
}
