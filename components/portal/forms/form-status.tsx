"use client";
/**
 * The result of a form: empty at first, and announced when it changes. The button that was pressed can't keep the focus
 * while it is disabled, so the focus goes to what the form has to say.
 */

import { useEffect, useRef } from "react";
import type { ButtonVariant } from "#components/ui/button-style";
import { Callout } from "#components/ui/callout";
import type { FormState } from "#lib/api/schemas/form-state";
import { isFocusFree } from "./focus-news";
import { SubmitButton } from "./submit-button";

export function FormStatus({ state }: { readonly state: FormState<unknown> }) {
  const status = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (state.status === "idle" || !isFocusFree()) return;
    const invalid = status.current?.closest("form")?.querySelector<HTMLElement>("[aria-invalid=true]");
    (invalid ?? status.current)?.focus();
  }, [state]);
  const isSilent = state.status === "idle" || state.message === "";
  return (
    <div
      ref={status}
      tabIndex={-1}
      aria-live="polite"
      className={isSilent ? "sr-only" : "rounded-md outline-none"}
    >
      {isSilent ? null : <Callout tone={state.status === "done" ? "pass" : "fail"} title={state.message} />}
    </div>
  );
}

interface FormEndProps {
  readonly state: FormState<unknown>;
  readonly label: string;
  readonly variant?: ButtonVariant;
}

export function FormEnd({ state, label, ...rest }: FormEndProps) {
  return (
    <>
      <FormStatus state={state} />
      <div>
        <SubmitButton {...rest}>{label}</SubmitButton>
      </div>
    </>
  );
}
