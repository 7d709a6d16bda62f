"use client";
/**
 * The same call in several languages. Radio buttons and CSS choose one, so that it works without JavaScript; with it,
 * the choice is remembered from page to page.
 */
import { type ReactNode, useEffect, useId, useRef } from "react";
import { CodeBlock } from "#components/ui/code-block";
import type { Sample } from "./samples";

interface CodeTabsProps {
  /** `coloured`: by the server. */
  readonly samples: readonly (Sample & { readonly coloured?: ReactNode })[];
  readonly label: string;
}

const storageKey = "code-language";

/** A browser may refuse to keep or to tell anything. */
function remember(language: string): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {}
}

function recall(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

/** Spelled out, because styles are made from what the files say. */
const panels = {
  curl: "hidden group-has-[[value=curl]:checked]:block",
  typescript: "hidden group-has-[[value=typescript]:checked]:block",
  python: "hidden group-has-[[value=python]:checked]:block",
} as const;

export function CodeTabs({ samples, label }: CodeTabsProps) {
  const name = useId();
  const own = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    const radios = [...(own.current?.querySelectorAll("input") ?? [])];
    const chosen = radios.find(({ checked, defaultChecked }) => checked && !defaultChecked);
    // Chosen before this script ran.
    if (chosen) return remember(chosen.value);
    const known = recall();
    const radio = radios.find(({ value }) => value === known);
    if (radio) radio.checked = true;
  }, []);
  return (
    <fieldset ref={own} className="group min-w-0">
      <legend className="sr-only">Language of the example</legend>
      <div className="mb-2 flex flex-wrap gap-1">
        {samples.map(({ id, title }, index) => (
          <label
            key={id}
            className="flex min-h-9 cursor-pointer items-center rounded-md border border-transparent px-3 font-medium text-muted text-sm hover:text-ink has-[:checked]:border-line-strong has-[:checked]:bg-surface has-[:checked]:text-ink has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-accent"
          >
            <input
              type="radio"
              name={name}
              value={id}
              defaultChecked={index === 0}
              onChange={() => remember(id)}
              className="sr-only"
            />
            {title}
          </label>
        ))}
      </div>
      {samples.map(({ id, title, code, coloured }) => (
        <div key={id} className={panels[id]}>
          <CodeBlock code={code} label={`${label}, ${title}`} title={title} coloured={coloured} />
        </div>
      ))}
    </fieldset>
  );
}
