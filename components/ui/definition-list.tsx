/** Names and values. On phones each name is above its value. */
import type { ReactNode } from "react";

export interface Definition {
  readonly id: string;
  readonly name: ReactNode;
  readonly value: ReactNode;
  /** Amounts and recipients on the approval page. */
  readonly prominent?: boolean;
}

export function DefinitionList({ items }: { readonly items: readonly Definition[] }) {
  return (
    <dl className="divide-y divide-line">
      {items.map((item) => (
        <div key={item.id} className="keep-together grid gap-x-6 gap-y-0.5 py-2.5 sm:grid-cols-[11rem_1fr]">
          <dt className="text-muted text-sm sm:pt-0.5">{item.name}</dt>
          <dd className={`min-w-0 ${item.prominent ? "font-semibold text-xl" : "text-[15px]"}`}>
            {item.value}
          </dd>
        </div>
      ))}
    </dl>
  );
}
