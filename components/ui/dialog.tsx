"use client";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { createPortal } from "react-dom";
/** A modal dialog, the browser's own: focus stays inside, Escape closes, focus returns to the button that opened it. */
import { XMarkIcon } from "#components/ui/icons";
import { type ButtonSize, type ButtonVariant, buttonClass } from "./button-style";
import { useIsReady } from "./use-is-ready";

interface ModalProps {
  readonly labelledBy: string;
  readonly describedBy?: string | undefined;
  readonly className: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Open as long as it is rendered. Lies in the body: an opener inside a form, a table or a paragraph may render it. */
export function Modal({ labelledBy, describedBy, className, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    const opener = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, which the browser tells by `cancel`
    <dialog
      ref={dialog}
      aria-labelledby={labelledBy}
      aria-describedby={describedBy}
      className={`fixed m-auto rounded-lg border border-line bg-surface text-ink backdrop:bg-[rgb(0_0_0/0.5)] ${className}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      {children}
    </dialog>,
    document.body,
  );
}

interface DialogProps {
  readonly triggerLabel: ReactNode;
  readonly triggerVariant?: ButtonVariant;
  readonly triggerSize?: ButtonSize;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function Dialog(props: DialogProps) {
  const { triggerLabel, triggerVariant = "secondary", triggerSize = "medium", title, description } = props;
  const { children, open, onOpenChange } = props;
  const isReady = useIsReady();
  const id = useId();
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        disabled={!isReady}
        onClick={() => onOpenChange(true)}
        className={buttonClass(triggerVariant, triggerSize)}
      >
        {triggerLabel}
      </button>
      {open ? (
        <Modal
          labelledBy={`${id}-title`}
          describedBy={description ? `${id}-description` : undefined}
          className="max-h-[90dvh] w-[min(32rem,calc(100vw-2rem))] overflow-y-auto"
          onClose={() => onOpenChange(false)}
        >
          <div className="p-5">
            <div className="flex items-start justify-between gap-4">
              <h2 id={`${id}-title`} className="font-semibold text-lg">
                {title}
              </h2>
              <button
                type="button"
                aria-label="Close"
                onClick={() => onOpenChange(false)}
                className="-mt-1 -mr-1 inline-flex size-9 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-ink"
              >
                <XMarkIcon aria-hidden="true" className="size-5" />
              </button>
            </div>
            {description ? (
              <div id={`${id}-description`} className="mt-1 text-muted">
                {description}
              </div>
            ) : null}
            <div className="mt-4">{children}</div>
          </div>
        </Modal>
      ) : null}
    </>
  );
}
