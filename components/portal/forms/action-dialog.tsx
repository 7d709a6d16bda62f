"use client";
/**
 * An action that needs confirmation: the button opens a dialog that says what will happen, and its form does it.
 * Closing the dialog afterwards refreshes the page.
 */
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { PortalForm } from "#components/portal/organization/shown-organization";
import { Button } from "#components/ui/button";
import type { ButtonVariant } from "#components/ui/button-style";
import { Dialog } from "#components/ui/dialog";
import { useRefresh } from "#components/ui/router";
import type { FormAction } from "#lib/api/schemas/form-state";
import { FormStatus } from "./form-status";
import { SubmitButton } from "./submit-button";
import { useFormAction } from "./use-form-action";

interface ActionDialogProps<Result> {
  readonly triggerLabel: ReactNode;
  /** Text that follows the label for screen readers alone. */
  readonly triggerDetail?: string | undefined;
  readonly triggerVariant?: ButtonVariant;
  /** A stop button is as large as any. */
  readonly isLarge?: boolean;
  readonly title: string;
  readonly description: ReactNode;
  readonly action: FormAction<Result>;
  /** Hidden fields. */
  readonly fields: Readonly<Record<string, string>>;
  readonly confirmLabel: string;
  readonly confirmVariant?: ButtonVariant;
  /** Controls of the form. */
  readonly children?: ReactNode;
  /** Shown after success, instead of the form. */
  readonly renderResult?: (result: Result) => ReactNode;
}

interface BodyProps<Result> extends ActionDialogProps<Result> {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function Body<Result>(props: BodyProps<Result>) {
  const { action, fields, confirmLabel, confirmVariant = "danger", children, renderResult } = props;
  const [state, submit] = useFormAction(action);
  const closeRef = useRef<HTMLButtonElement>(null);
  const isDone = state.status === "done";
  const { onDone, onClose } = props;
  // Runs before anyone can close the dialog that shows the result: an effect would come too late for a fast hand.
  useLayoutEffect(() => {
    if (!isDone) return;
    onDone();
    closeRef.current?.focus();
  }, [isDone, onDone]);
  return (
    <PortalForm action={submit} keepsFields className="flex flex-col gap-4">
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {isDone ? null : children}
      <FormStatus state={state} />
      {isDone && state.result !== null ? renderResult?.(state.result) : null}
      <div className="flex flex-wrap justify-end gap-3">
        <Button ref={closeRef} variant="secondary" onClick={onClose}>
          {isDone ? "Close" : "Cancel"}
        </Button>
        {isDone ? null : <SubmitButton variant={confirmVariant}>{confirmLabel}</SubmitButton>}
      </div>
    </PortalForm>
  );
}

export function ActionDialog<Result>(props: ActionDialogProps<Result>) {
  const { triggerLabel, triggerDetail, title, description } = props;
  const { triggerVariant = "secondary", isLarge = false } = props;
  const [open, setOpen] = useState(false);
  // The action refreshes the page below: by then the button may be for the opposite, such as "End the legal hold".
  const [asked, setAsked] = useState({ title, description });
  const isStale = useRef(false);
  const refresh = useRefresh();
  const [markStale] = useState(() => () => {
    isStale.current = true;
  });
  function change(next: boolean): void {
    setOpen(next);
    if (next) setAsked({ title, description });
    if (next || !isStale.current) return;
    isStale.current = false;
    void refresh();
  }
  return (
    <Dialog
      triggerLabel={
        <>
          {triggerLabel}
          {triggerDetail === undefined ? null : <span className="sr-only">{triggerDetail}</span>}
        </>
      }
      triggerVariant={triggerVariant}
      triggerSize={isLarge ? "medium" : "small"}
      title={asked.title}
      description={asked.description}
      open={open}
      onOpenChange={change}
    >
      <Body {...props} onDone={markStale} onClose={() => change(false)} />
    </Dialog>
  );
}
