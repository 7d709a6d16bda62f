"use client";
/** The search of the portal: a combobox with a list (WAI-ARIA Authoring Practices, "Combobox"), in a modal dialog. */
import { Dialog } from "@base-ui/react/dialog";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { guideEntries } from "#components/guides/guides-index";
import { Input } from "#components/ui/field";
import { useVisit } from "#components/ui/router";
import { innerPages, portalSections } from "./portal-sections";
import { useSearchHits } from "./use-search-hits";

interface Choice {
  readonly kind: string;
  readonly label: string;
  readonly href: string;
}

const pages: readonly Choice[] = [
  ...[...portalSections, ...innerPages].map(({ href, label }) => ({ kind: "Page", label, href })),
  { kind: "Page", label: "API reference", href: "/docs/api" },
  ...guideEntries.map(({ slug, title }) => ({ kind: "Guide", label: title, href: `/docs/${slug}` })),
];
const shownPages = 8;

function findPages(text: string): Choice[] {
  const wanted = text.toLowerCase();
  return pages.filter(({ label }) => label.toLowerCase().includes(wanted)).slice(0, shownPages);
}

function useChoices(text: string, organizationId: string) {
  const { hits, problem } = useSearchHits(text, organizationId);
  const inActions = {
    kind: "Attestations",
    label: `with “${text}”`,
    href: `/portal/attestations?q=${encodeURIComponent(text)}`,
  };
  return { choices: [...findPages(text), ...hits, ...(text === "" ? [] : [inActions])], problem };
}

interface ResultsProps {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly current: number;
  readonly onChoose: (choice: Choice) => void;
}

function Results({ id, choices, current, onChoose }: ResultsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <div ref={list} id={id} role="listbox" aria-label="Results" className="max-h-[50dvh] overflow-y-auto">
      {choices.map((choice, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keyboard, and Enter chooses
        <div
          key={`${choice.kind} ${choice.href}`}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === current}
          onClick={() => onChoose(choice)}
          className="flex min-h-11 cursor-pointer items-center justify-between gap-4 rounded-md px-3 hover:bg-sunken aria-selected:bg-accent-soft"
        >
          <span className="min-w-0 [overflow-wrap:anywhere]">
            <AgentText value={choice.label} isName hideWarnings />
          </span>
          <span className="shrink-0 text-muted text-sm">{choice.kind}</span>
        </div>
      ))}
    </div>
  );
}

interface SearchDialogProps {
  readonly organizationId: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

function SearchBox({
  organizationId,
  onDone,
}: {
  readonly organizationId: string;
  readonly onDone: () => void;
}) {
  const visit = useVisit();
  const id = useId();
  const [typed, setTyped] = useState("");
  const [current, setCurrent] = useState(0);
  const { choices, problem } = useChoices(typed.trim(), organizationId);
  const choose = ({ href }: Choice) => {
    onDone();
    visit(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = choices[current];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setCurrent((current + step + choices.length) % choices.length);
    else if (event.key === "Enter" && chosen !== undefined) choose(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <Input
        role="combobox"
        aria-label="Search pages, keys, agents and ids"
        aria-expanded={choices.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        {...(choices.length > 0 ? { "aria-activedescendant": `${id}-${current}` } : {})}
        placeholder="A page, key, agent or id"
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setCurrent(0);
        }}
        onKeyDown={onKeyDown}
      />
      <p role="status" className={problem === null ? "sr-only" : "mt-2 text-fail text-sm"}>
        {problem ?? `${choices.length} results`}
      </p>
      <div className="mt-3">
        <Results id={id} choices={choices} current={current} onChoose={choose} />
      </div>
    </>
  );
}

export function SearchDialog({ organizationId, isOpen, onOpenChange }: SearchDialogProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.5)]" />
        <Dialog.Popup className="fixed top-[10dvh] left-1/2 z-50 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 rounded-lg border border-line bg-surface p-4 text-ink">
          <Dialog.Title className="sr-only">Search</Dialog.Title>
          <SearchBox organizationId={organizationId} onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
