"use client";
/** Tabs. All panels stay in the document (hidden), so that find-in-page of the browser and print can reach them. */
import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export interface TabItem {
  readonly id: string;
  readonly label: string;
  readonly content: ReactNode;
}

interface TabsProps {
  /** Names the group for screen readers. */
  readonly label: string;
  readonly items: readonly TabItem[];
  readonly defaultId?: string;
}

export function Tabs({ label, items, defaultId }: TabsProps) {
  return (
    <Base.Root defaultValue={defaultId ?? items[0]?.id ?? null}>
      <Base.List aria-label={label} className="flex gap-1 overflow-x-auto border-line border-b">
        {items.map((item) => (
          <Base.Tab
            key={item.id}
            value={item.id}
            className="-mb-px min-h-11 cursor-pointer whitespace-nowrap border-transparent border-b-2 px-3 text-muted text-sm hover:text-ink data-[active]:border-accent data-[active]:font-medium data-[active]:text-ink"
          >
            {item.label}
          </Base.Tab>
        ))}
      </Base.List>
      {items.map((item) => (
        <Base.Panel key={item.id} value={item.id} keepMounted className="pt-4">
          {item.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
