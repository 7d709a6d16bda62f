"use client";
/** The rules as text, with their mistakes in place. They are compared with past requests before they are saved. */
import { useRef, useState } from "react";
import { FormStatus } from "#components/portal/forms/form-status";
import { textValue } from "#components/portal/forms/form-values";
import { useFormAction } from "#components/portal/forms/use-form-action";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { Checkbox, Field, Select, Textarea } from "#components/ui/field";
import { useIsReady } from "#components/ui/use-is-ready";
import { type FormAction, type FormState, idleState } from "#lib/api/schemas/form-state";
import type { RulesFormResult } from "#lib/api/schemas/portal";
import type { RulesProblem } from "#lib/protocol/policy/parse-rules";
import { rulesTemplates } from "#lib/protocol/policy/templates";
import { RulesDiff } from "./rules-diff";
import { RulesWarnings } from "./rules-warnings";
import { SimulationView } from "./simulation-view";

const modes = [
  { value: "off", label: "Off" },
  { value: "log_only", label: "Log only: decide nothing" },
  { value: "enforce", label: "Enforce" },
] as const;

export interface EditedRules {
  readonly version: number;
  readonly text: string;
  readonly mode: "off" | "log_only" | "enforce";
  readonly fallback: "ask" | "deny";
  readonly secondOwner: boolean;
}

const secondOwnerHint = "From the next change on, an owner other than its author must confirm it.";

interface ProblemsProps {
  readonly problems: readonly RulesProblem[];
  readonly onShow: (problem: RulesProblem) => void;
}

function Problems({ problems, onShow }: ProblemsProps) {
  return (
    <Callout
      alert
      tone="fail"
      title={problems.length === 1 ? "Not saved: one problem" : `Not saved: ${problems.length} problems`}
    >
      <ul className="flex flex-col gap-1">
        {problems.map((problem) => (
          <li key={`${problem.line}:${problem.column}:${problem.message}`}>
            <button
              type="button"
              className="min-h-8 text-left underline underline-offset-2"
              onClick={() => onShow(problem)}
            >
              Line {problem.line}, column {problem.column}
            </button>
            : {problem.message}
            {problem.help === null ? null : <span className="block text-sm">{problem.help}</span>}
          </li>
        ))}
      </ul>
    </Callout>
  );
}

function Templates({ onAdd }: { readonly onAdd: (text: string) => void }) {
  const isReady = useIsReady();
  return (
    <fieldset className="flex flex-wrap items-center gap-2">
      <legend className="mb-1 text-muted text-sm">Add a template</legend>
      {rulesTemplates.map(({ title, text }) => (
        <Button key={title} variant="secondary" size="small" disabled={!isReady} onClick={() => onAdd(text)}>
          {title}
        </Button>
      ))}
    </fieldset>
  );
}

type Chosen = Pick<EditedRules, "mode" | "fallback" | "secondOwner">;

interface ChoicesProps {
  readonly chosen: Chosen;
  readonly isOnlyOwner: boolean;
  readonly onChoose: (more: Partial<Chosen>) => void;
}

function Choices({ chosen, isOnlyOwner, onChoose }: ChoicesProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field id="rules-mode" label="Mode">
          <Select
            id="rules-mode"
            name="mode"
            value={chosen.mode}
            onChange={({ target }) => onChoose({ mode: target.value as Chosen["mode"] })}
          >
            {modes.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        </Field>
        <Field id="rules-fallback" label="If no rule permits a request">
          <Select
            id="rules-fallback"
            name="fallback"
            value={chosen.fallback}
            onChange={({ target }) => onChoose({ fallback: target.value as Chosen["fallback"] })}
          >
            <option value="ask">Ask people</option>
            <option value="deny">Deny it</option>
          </Select>
        </Field>
      </div>
      <Checkbox
        name="second_owner"
        checked={chosen.secondOwner}
        onChange={({ target }) => onChoose({ secondOwner: target.checked })}
        label="Changes need a second owner"
        hint={
          isOnlyOwner
            ? `${secondOwnerHint} You are the only owner: invite another in Settings first.`
            : secondOwnerHint
        }
      />
    </>
  );
}

/** Converts Cedar's line and column (characters, from 1) to an index of the text. */
function findIndex(text: string, { line, column }: RulesProblem): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

/** A browser shows and sends lines in ways of its own. */
const unixLines = (text: string) => text.replaceAll(/\r\n?/g, "\n");

/** Restores input that was sent and isn't saved, for a page without JavaScript, which is rendered again. */
const toChosen = (state: FormState<unknown>, rules: EditedRules): Chosen =>
  "mode" in state.values
    ? {
        mode: textValue(state, "mode") as Chosen["mode"],
        fallback: textValue(state, "fallback") as Chosen["fallback"],
        secondOwner: "second_owner" in state.values,
      }
    : rules;

interface RulesEditorProps {
  readonly action: FormAction<RulesFormResult>;
  readonly rules: EditedRules;
  /** True if nobody could confirm a change. */
  readonly isOnlyOwner: boolean;
}

/** Rendered again for each version but the one being edited; that one's editor says that it was saved. */
export function RulesEditor({ action, rules, isOnlyOwner }: RulesEditorProps) {
  const form = useFormAction(action);
  return <VersionEditor key={rules.version} form={form} rules={rules} isOnlyOwner={isOnlyOwner} />;
}

interface VersionEditorProps extends Omit<RulesEditorProps, "action"> {
  readonly form: ReturnType<typeof useFormAction<RulesFormResult>>;
}

function VersionEditor({ form: [answer, submit, isPending], rules, isOnlyOwner }: VersionEditorProps) {
  const version = String(rules.version);
  // Discards input for another version, which must not be saved over this one.
  const state = textValue(answer, "version", version) === version ? answer : idleState;
  const [text, setText] = useState(() => unixLines(textValue(state, "text", rules.text)));
  const [chosen, setChosen] = useState(() => toChosen(state, rules));
  const area = useRef<HTMLTextAreaElement>(null);
  const { result } = state;
  const isCompared =
    text === unixLines(textValue(state, "text")) && chosen.fallback === textValue(state, "fallback");
  const show = (problem: RulesProblem) => {
    const index = findIndex(text, problem);
    area.current?.focus();
    area.current?.setSelectionRange(index, index + 1);
  };
  const add = (template: string) =>
    setText((old) => (old === "" ? template : `${old.trimEnd()}\n\n${template}`));
  return (
    <PortalForm action={submit} keepsFields className="flex flex-col gap-5">
      <input type="hidden" name="version" value={version} />
      <Templates onAdd={add} />
      <Field id="rules-text" label="Rules, in Cedar">
        <Textarea
          ref={area}
          id="rules-text"
          name="text"
          rows={Math.min(30, Math.max(12, text.split("\n").length + 1))}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          className="font-mono text-[13px] leading-[1.6]"
          value={text}
          onChange={({ target }) => setText(target.value)}
          {...(result?.kind === "problems" ? { "aria-invalid": true } : {})}
        />
      </Field>
      {result?.kind === "problems" ? <Problems problems={result.problems} onShow={show} /> : null}
      <Choices
        chosen={chosen}
        isOnlyOwner={isOnlyOwner}
        onChoose={(more) => setChosen((old) => ({ ...old, ...more }))}
      />
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant="secondary" name="intent" value="compare" disabled={isPending}>
          What would this have changed?
        </Button>
        <Button type="submit" name="intent" value="save" disabled={isPending}>
          Save rules
        </Button>
      </div>
      <FormStatus state={state} />
      {result?.kind === "saved" ? <RulesWarnings warnings={result.warnings} /> : null}
      {result?.kind === "compared" && isCompared ? (
        <>
          {text === rules.text ? null : (
            <RulesDiff before={rules.text} after={text} label="Your changes of the text" />
          )}
          <SimulationView simulation={result.simulation} />
        </>
      ) : null}
    </PortalForm>
  );
}
