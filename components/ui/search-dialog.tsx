"use client";
/** A search: a combobox with a list (WAI-ARIA Authoring Practices, "Combobox"), in a modal dialog. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { AgentText } from "#components/agent-text";
import { formatCount } from "#lib/protocol/text/display-text";
import { Modal } from "./dialog";
import { Input } from "./field";
import { useVisit } from "./router";

export interface Choice {
  readonly kind: string;
  readonly label: string;
  readonly href: string;
}

export interface Choices {
  readonly choices: readonly Choice[];
  /** Message if the search failed. */
  readonly problem: string | null;
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

interface SearchBoxProps {
  readonly label: string;
  readonly placeholder: string;
  /** Results for the typed text, which {@link onType} is given. */
  readonly found: Choices;
  readonly onType: (text: string) => void;
}

interface SearchDialogProps extends SearchBoxProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

function SearchBox(props: SearchBoxProps & { readonly onDone: () => void }) {
  const { label, placeholder, found, onType, onDone } = props;
  const visit = useVisit();
  const id = useId();
  const [typed, setTyped] = useState("");
  const [current, setCurrent] = useState(0);
  const { choices, problem } = found;
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
        aria-label={label}
        aria-expanded={choices.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        {...(choices.length > 0 ? { "aria-activedescendant": `${id}-${current}` } : {})}
        placeholder={placeholder}
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          onType(event.target.value.trim());
          setCurrent(0);
        }}
        onKeyDown={onKeyDown}
      />
      <p role="status" className={problem === null ? "sr-only" : "mt-2 text-fail text-sm"}>
        {problem ?? formatCount(choices.length, "result")}
      </p>
      <div className="mt-3">
        <Results id={id} choices={choices} current={current} onChoose={choose} />
      </div>
    </>
  );
}

export function SearchDialog({ isOpen, onOpenChange, ...box }: SearchDialogProps) {
  const title = useId();
  if (!isOpen) return null;
  return (
    <Modal
      labelledBy={title}
      className="mt-[10dvh] w-[min(36rem,calc(100vw-2rem))]"
      onClose={() => onOpenChange(false)}
    >
      <div className="p-4">
        <h2 id={title} className="sr-only">
          Search
        </h2>
        <SearchBox {...box} onDone={() => onOpenChange(false)} />
      </div>
    </Modal>
  );
}
