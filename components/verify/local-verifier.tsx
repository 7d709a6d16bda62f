"use client";
/** Takes a pasted or dropped file, and the visitor's own keys. */
import { type DragEvent, useRef, useState } from "react";
import { Button } from "#components/ui/button";
import { describeControl, Field, FileInput, Textarea } from "#components/ui/field";
import { useIsReady } from "#components/ui/use-is-ready";
import { explainError, FileOutcome, readKeys, useFileCheck } from "./file-check";

export function LocalVerifier() {
  const pinned = useRef(Promise.resolve<string | null>(null));
  const keysField = useRef<HTMLInputElement>(null);
  const [keysProblem, setKeysProblem] = useState<string | null>(null);
  const [isOver, setIsOver] = useState(false);
  const isReady = useIsReady();
  /** Uncontrolled: React would lose what was typed before the page was ready. */
  const field = useRef<HTMLTextAreaElement>(null);
  const check = useFileCheck(pinned, (text) => {
    if (field.current) field.current.value = text ?? "";
  });
  const { outcome, forget, verify } = check;

  const take = async (file: File | undefined) => {
    if (file !== undefined) await check.take(file);
  };

  async function pin(file: File | undefined): Promise<void> {
    forget();
    setKeysProblem(null);
    const read = readKeys(file).catch((error: unknown) => {
      throw new Error(`your copy of the public keys can't be used: ${explainError(error)}`);
    });
    pinned.current = read;
    const problem = await read.then(() => null, explainError);
    if (pinned.current === read) setKeysProblem(problem);
  }

  function unpin(): void {
    if (keysField.current) keysField.current.value = "";
    void pin(undefined);
  }

  function drop(event: DragEvent<HTMLElement>): void {
    setIsOver(false);
    // The keys' own field takes them itself.
    if (event.target === keysField.current) return;
    event.preventDefault();
    void take(event.dataTransfer.files[0]);
  }

  return (
    <div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void verify(field.current?.value ?? "");
        }}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
        className={`rounded-lg border-2 border-dashed px-4 py-5 sm:px-6 ${isOver ? "border-accent bg-accent-soft" : "border-line-strong"}`}
      >
        <Field
          id="evidence"
          label="Paste it here, or drop a file"
          hint="An evidence pack (ZIP), an attestation's JSON, a Sigstore bundle, a human_authorization, a presentation or a log proof."
        >
          <Textarea
            {...describeControl("evidence", { hint: true })}
            rows={6}
            required
            spellCheck={false}
            className="font-mono text-sm"
            ref={field}
            onChange={forget}
          />
        </Field>
        <div className="mt-4 grid gap-4 sm:grid-cols-2">
          <Field id="file" label="Or choose the file">
            <FileInput id="file" onChange={(event) => void take(event.target.files?.[0])} />
          </Field>
          <Field
            id="keys"
            label="Your own copy of the public keys (optional)"
            {...(keysProblem === null ? {} : { error: keysProblem })}
          >
            <FileInput
              {...describeControl("keys", { error: keysProblem !== null })}
              ref={keysField}
              onChange={(event) => void pin(event.target.files?.[0])}
            />
            {keysProblem === null ? null : (
              <Button size="small" variant="secondary" onClick={unpin}>
                Use the service's keys
              </Button>
            )}
          </Field>
        </div>
        <div className="mt-4">
          <Button type="submit" disabled={!isReady || outcome.phase === "running"}>
            {outcome.phase === "running" ? "Verifying …" : "Verify in this browser"}
          </Button>
        </div>
      </form>
      <FileOutcome {...check} />
    </div>
  );
}
