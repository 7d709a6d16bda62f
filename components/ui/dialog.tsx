"use client";
/** A modal dialog: focus stays inside, Escape closes, focus returns to the button that opened it. */
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { type ButtonSize, type ButtonVariant, buttonClass } from "./button-style";
import { useIsReady } from "./use-is-ready";

interface DialogProps {
  readonly triggerLabel: ReactNode;
  readonly triggerVariant?: ButtonVariant;
  readonly triggerSize?: ButtonSize;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  /** Controlled use; leave both out otherwise. */
  readonly open?: boolean;
  readonly onOpenChange?: (open: boolean) => void;
}

export function Dialog(props: DialogProps) {
  const {
    triggerLabel,
    triggerVariant = "secondary",
    triggerSize = "medium",
    title,
    description,
    children,
    open,
    onOpenChange,
  } = props;
  const isReady = useIsReady();
  return (
    <Base.Root
      {...(open === undefined ? {} : { open })}
      {...(onOpenChange === undefined ? {} : { onOpenChange })}
    >
      <Base.Trigger disabled={!isReady} className={buttonClass(triggerVariant, triggerSize)}>
        {triggerLabel}
      </Base.Trigger>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.5)]" />
        <Base.Popup className="fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[min(32rem,calc(100vw-2rem))] -translate-x-1/2 -translate-y-1/2 overflow-y-auto rounded-lg border border-line bg-surface p-5 text-ink">
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="font-semibold text-lg">{title}</Base.Title>
            <Base.Close
              aria-label="Close"
              className="-mt-1 -mr-1 inline-flex size-9 cursor-pointer items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-ink"
            >
              <X aria-hidden="true" className="size-5" />
            </Base.Close>
          </div>
          {description ? (
            <Base.Description className="mt-1 text-muted">{description}</Base.Description>
          ) : null}
          <div className="mt-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
