"use client";
/** Paste or drop a presentation and check it here in the browser: nothing leaves the page. */
import { type DragEvent, type FormEvent, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { Callout } from "#components/ui/callout";
import { describeControl, Field, FileInput, Input, Textarea } from "#components/ui/field";
import { useIsReady } from "#components/ui/use-is-ready";
import type { CheckedPresentation } from "./check-presentation";
import { PresentationResult } from "./presentation-result";

const maxBytes = 1_000_000;

type State =
  | { kind: "idle" }
  | { kind: "checking" }
  | { kind: "problem"; message: string }
  | { kind: "checked"; checked: CheckedPresentation };

async function fetchPublicKeys(): Promise<string> {
  const response = await fetch("/v1/pubkey", { cache: "no-store" });
  if (!response.ok) throw new Error(`the service's keys could not be fetched (${response.status})`);
  return response.text();
}

interface Fields {
  text: string;
  audience: string;
  nonce: string;
}

async function runCheck({ text, audience, nonce }: Fields): Promise<State> {
  try {
    const [pubkey, { checkPresentation }] = await Promise.all([
      fetchPublicKeys(),
      import("./check-presentation"),
    ]);
    const question = {
      text: text.trim(),
      audience,
      nonce,
      nowSeconds: Date.now() / 1_000,
    };
    return { kind: "checked", checked: await checkPresentation(question, pubkey) };
  } catch (error) {
    return { kind: "problem", message: error instanceof Error ? error.message : "the check could not run" };
  }
}

/** No control has a name: submitted before the script runs, the form would send what was pasted in an address. */
export function PresentationForm() {
  const [fields, setFields] = useState<Fields>({ text: "", audience: "", nonce: "" });
  const [isOver, setIsOver] = useState(false);
  const isReady = useIsReady();
  const [state, setState] = useState<State>({ kind: "idle" });

  const run = useRef(0);

  /** No old verdict may be shown beside new input, and none may arrive that was requested before the input changed. */
  const change = (changed: Partial<Fields>) => {
    run.current += 1;
    setFields((before) => ({ ...before, ...changed }));
    setState({ kind: "idle" });
  };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    change({});
    const own = run.current;
    if (file.size > maxBytes) {
      setState({ kind: "problem", message: "the file is larger than a megabyte" });
      return;
    }
    const text = await file.text();
    if (own === run.current) change({ text });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void read(event.dataTransfer.files[0]);
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    run.current += 1;
    const own = run.current;
    setState({ kind: "checking" });
    const found = await runCheck(fields);
    if (own === run.current) setState(found);
  };

  return (
    <>
      <form onSubmit={(event) => void submit(event)} className="mt-8 flex flex-col gap-5">
        <Field id="presentation" label="Presentation" hint="Paste the JSON here, or drop a file.">
          <Textarea
            {...describeControl("presentation", { hint: true })}
            rows={9}
            required
            spellCheck={false}
            autoComplete="off"
            value={fields.text}
            onChange={(event) => change({ text: event.target.value })}
            onDragOver={(event) => {
              event.preventDefault();
              setIsOver(true);
            }}
            onDragLeave={() => setIsOver(false)}
            onDrop={drop}
            className={`font-mono text-[13px] ${isOver ? "border-accent bg-accent-soft" : ""}`}
          />
        </Field>
        <Field id="file" label="Or choose a file">
          <FileInput
            id="file"
            accept="application/json,.json"
            onChange={(event) => void read(event.target.files?.[0])}
          />
        </Field>
        <div className="grid gap-5 sm:grid-cols-2">
          <Field id="audience" label="Audience you expect" hint="The name you gave the owner for yourself.">
            <Input
              {...describeControl("audience", { hint: true })}
              value={fields.audience}
              maxLength={512}
              spellCheck={false}
              autoComplete="off"
              onChange={(event) => change({ audience: event.target.value })}
            />
          </Field>
          <Field id="nonce" label="Nonce you chose" hint="Without it, a copied presentation would pass.">
            <Input
              {...describeControl("nonce", { hint: true })}
              value={fields.nonce}
              maxLength={256}
              spellCheck={false}
              autoComplete="off"
              onChange={(event) => change({ nonce: event.target.value })}
            />
          </Field>
        </div>
        <div>
          <Button type="submit" disabled={!isReady || state.kind === "checking"}>
            {state.kind === "checking" ? "Checking…" : "Check in this browser"}
          </Button>
        </div>
      </form>
      <div aria-live="polite">
        {state.kind === "problem" ? (
          <div className="mt-8">
            <Callout tone="fail" alert title="This couldn't be checked">
              <span className="[overflow-wrap:anywhere]">{state.message}.</span>
            </Callout>
          </div>
        ) : null}
        {state.kind === "checked" ? <PresentationResult checked={state.checked} /> : null}
      </div>
    </>
  );
}
